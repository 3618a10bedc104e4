// swift-tools-version:5.9
// A device for Swift over the C interface. Compiled by nobody here: Debian has no Swift.
//
// On macOS or Linux the linker finds libcoppice_device by its search path:
//   swift build -Xlinker -L../../build/device/lib
// For iOS make an XCFramework of the archives, libcrypto and this folder's header, and name it as a binaryTarget in the
// place of the system library.
import PackageDescription

let package = Package(
    name: "CoppiceDevice",
    platforms: [.iOS(.v15), .macOS(.v12)],
    products: [.library(name: "CoppiceDevice", targets: ["CoppiceDevice"])],
    targets: [
        .systemLibrary(name: "CCoppiceDevice"),
        .target(name: "CoppiceDevice", dependencies: ["CCoppiceDevice"]),
    ]
)
