# find_package(coppice): the device side of Coppice, no gRPC and no protobuf.
include(CMakeFindDependencyMacro)
find_dependency(OpenSSL 3.0)
find_dependency(absl)
include(${CMAKE_CURRENT_LIST_DIR}/coppiceClient.cmake)
