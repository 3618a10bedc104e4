# Every dependency is a Debian 12 package; deploy/packages.txt lists them by name.
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(absl REQUIRED)
find_package(Protobuf REQUIRED)  # Debian ships no Protobuf CMake config; this is CMake's own module.
find_package(gRPC CONFIG REQUIRED)
find_package(Boost REQUIRED)  # its headers only: exact confidence bounds in the lab
find_package(Eigen3 3.4 REQUIRED)
find_package(LAPACK REQUIRED)  # OpenBLAS where it is installed; lapacke is its C interface
find_package(RocksDB CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_program(COPPICE_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
if(COPPICE_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()
