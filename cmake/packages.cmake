# Debian packages of the components, which deploy/packages.sh builds through CPack.
set(COPPICE_MAINTAINER "Coppice maintainers <maintainers@coppice.invalid>" CACHE STRING
    "Who answers for the Debian packages: NAME <ADDRESS>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME coppice)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has a description of its own
set(CPACK_COMPONENTS_ALL ${COPPICE_COMPONENTS})
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)  # makes installed files use the prefix /usr, not a staging folder
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/complete_packages.cmake)
set(CPACK_COPPICE_SOURCE_DIR ${PROJECT_SOURCE_DIR})
set(CPACK_COPPICE_BUILD_DIR ${CMAKE_BINARY_DIR})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${COPPICE_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY >=)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# Abseil's names carry its release, so its archives and ours must be of the same one.
string(REGEX MATCH "^[0-9]+" absl_release ${absl_VERSION})
math(EXPR next_absl_release "${absl_release} + 1")
set(CPACK_DEBIAN_CLIENT_PACKAGE_NAME libcoppice-dev)
set(CPACK_DEBIAN_CLIENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_CLIENT_PACKAGE_DEPENDS
    "libabsl-dev (>= ${absl_release}), libabsl-dev (<< ${next_absl_release}~), libssl-dev (>= 3.0)")
set(CPACK_DEBIAN_CLIENT_PACKAGE_RECOMMENDS
    "libgrpc++-dev (>= 1.51), libprotobuf-dev (>= 3.21), protobuf-compiler, protobuf-compiler-grpc")
set(CPACK_COMPONENT_CLIENT_DESCRIPTION
"decision trees under differential privacy, device side
A device that holds one private row answers a study with one report, which it
randomizes before anything leaves it. This package has the headers and static
libraries for such devices: coppice::client, which needs no network library,
and coppice::collector, which talks to the curator over gRPC (recommended
packages). CMake and pkg-config find both.")

# The archive contains its Abseil; the shared library loads Debian's.
set(CPACK_DEBIAN_DEVICE_PACKAGE_NAME libcoppice-device-dev)
set(CPACK_DEBIAN_DEVICE_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVICE_PACKAGE_DEPENDS
    "libcoppice-device1 (= ${PROJECT_VERSION}), libssl-dev (>= 3.0), libstdc++-12-dev | libstdc++-dev")
set(CPACK_DEBIAN_DEVICE_PACKAGE_RECOMMENDS "libgrpc-dev (>= 1.51)")  # the sample's transport
set(CPACK_COMPONENT_DEVICE_DESCRIPTION
"decision trees under differential privacy, device side in C
A device that holds one private row answers a study with one report, which it
randomizes before anything leaves it. This package has the header
coppice_device.h, a static and a shared library, and a sample device whose
transport is gRPC (recommended package). The libraries move no bytes
themselves, and pkg-config finds them as coppice-device.")
set(CPACK_DEBIAN_DEVICE_RUNTIME_PACKAGE_NAME libcoppice-device1)
set(CPACK_DEBIAN_DEVICE_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_DEVICE_RUNTIME_DESCRIPTION
"decision trees under differential privacy, device library
A device that holds one private row answers a study with one report, which it
randomizes before anything leaves it. Programs that were linked with the
shared library of libcoppice-device-dev load it from this package.")
# CPack only adds scripts that run ldconfig. Debian wants a trigger, which runs it once for all packages.
set(CPACK_DEBIAN_DEVICE_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/deploy/debian/libcoppice-device1/triggers)

# The serial build of OpenBLAS cannot be used: it has no locks, and two threads that call it at once get wrong numbers.
set(linear_algebra libopenblas0-pthread)

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME coppice)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS ${linear_algebra})
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS coppiced)
set(CPACK_COMPONENT_TOOLS_DESCRIPTION
"decision trees under differential privacy, command line
The coppice program creates studies, simulates devices, uploads tables under a
privacy budget, trains on them and uses the models, all at a curator (package
coppiced). The coppice-lab program runs the same algorithms in one process on
CSV files, and says what accuracy to expect.")

set(CPACK_DEBIAN_SERVER_PACKAGE_NAME coppiced)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION net)
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "procps, ${linear_algebra}")  # the unit reloads with its kill
set(CPACK_DEBIAN_SERVER_PACKAGE_SUGGESTS "coppice, openssl")
set(CPACK_COMPONENT_SERVER_DESCRIPTION
"decision trees under differential privacy, curator daemon
The curator opens studies, takes randomized reports of devices, trains on
tables under a privacy budget whose ledger survives crashes, and answers with
models, over gRPC with TLS. It runs under systemd as a user that exists only
while it runs; its store stays when the package is purged.")

# The relay is run by another party than the curator.
set(CPACK_DEBIAN_RELAY_PACKAGE_NAME coppice-relay)
set(CPACK_DEBIAN_RELAY_PACKAGE_SECTION net)
set(CPACK_DEBIAN_RELAY_PACKAGE_DEPENDS "procps")  # the unit reloads with its kill
set(CPACK_DEBIAN_RELAY_PACKAGE_SUGGESTS "openssl")
set(CPACK_COMPONENT_RELAY_DESCRIPTION
"decision trees under differential privacy, relay
A relay stands between devices and the curator (package coppiced), and is run
by another party. It deals the curator's tickets to devices at random, keeps
their sealed reports until there are many, and passes them on in the order of
tickets, so that the curator learns which ticket got which answer, and not
which device had which ticket.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-coppice)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.11), python3 (<< 3.12), python3-numpy, ${linear_algebra}")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS
    "python3-sklearn, python3-pandas, python3-grpcio (>= 1.51), python3-protobuf (>= 3.21)")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-matplotlib, coppiced")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION
"decision trees under differential privacy, Python package
Estimators for scikit-learn train on a table in memory under a privacy budget;
devices answer studies with randomized reports, and whole studies run in one
process; and a client for the curator (package coppiced) uploads DataFrames,
trains, and predicts.")

set(CPACK_DEBIAN_DOC_PACKAGE_NAME coppice-doc)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DOC_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DOC_PACKAGE_SUGGESTS coppiced)
set(CPACK_COMPONENT_DOC_DESCRIPTION
"decision trees under differential privacy, documentation
Guides for those who train, answer and operate, the proofs of every guarantee,
and references of the commands, the settings, the protocol and the interfaces
in C++, C and Python: HTML pages with a search, which need no network. The
curator (package coppiced) serves them beside its console.")

set(debian ${PROJECT_SOURCE_DIR}/deploy/debian/coppiced)
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA
    "${debian}/conffiles;${debian}/postinst;${debian}/prerm;${debian}/postrm")
set(debian ${PROJECT_SOURCE_DIR}/deploy/debian/coppice-relay)
set(CPACK_DEBIAN_RELAY_PACKAGE_CONTROL_EXTRA
    "${debian}/conffiles;${debian}/postinst;${debian}/prerm;${debian}/postrm")
include(CPack)
