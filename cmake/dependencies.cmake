# Every dependency is a Debian 12 package; deploy/packages.txt lists them by name.

# In WebAssembly a device's rooms use headers of Abseil alone, and the cryptography of the page's bundle (client/js).
if(EMSCRIPTEN)
  find_path(abseil absl/types/span.h PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  # By a link of its own: the folder has headers of this machine too.
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
  file(CREATE_LINK ${abseil}/absl ${CMAKE_BINARY_DIR}/include/absl SYMBOLIC)
  add_library(coppice_abseil_headers INTERFACE)
  target_include_directories(coppice_abseil_headers SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/include)
  set(COPPICE_LIBRARY_absl coppice_abseil_headers)
  set(COPPICE_LIBRARY_openssl "")
  return()
endif()

find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(absl REQUIRED)
if(NOT COPPICE_DEVICE_ONLY)
  find_package(Protobuf REQUIRED)  # Debian ships no Protobuf CMake config; this is CMake's own module.
  find_package(gRPC CONFIG REQUIRED)
  find_package(Boost REQUIRED)  # its headers only: exact confidence bounds in the lab
  find_package(Eigen3 3.4 REQUIRED)
  find_package(LAPACK REQUIRED)  # OpenBLAS if it is installed; lapacke is its C interface
  find_package(RocksDB CONFIG REQUIRED)
  find_package(CLI11 CONFIG REQUIRED)
  find_package(prometheus-cpp CONFIG REQUIRED)
  # The server of its pages, which its own package needs: MetricsPage judges requests before it.
  find_library(COPPICE_CIVETWEB_LIBRARY civetweb REQUIRED)
  find_library(COPPICE_CIVETWEB_CPP_LIBRARY civetweb-cpp REQUIRED)
  find_program(COPPICE_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
  # libcsv (Debian's libcsv-dev) has a header and a library, but no CMake config.
  find_path(COPPICE_CSV_INCLUDE_DIR csv.h REQUIRED)
  find_library(COPPICE_CSV_LIBRARY csv REQUIRED)
  # The same holds for PostgreSQL's client library (libpq-dev): CMake's own module wants the server's headers too.
  find_path(COPPICE_PQ_INCLUDE_DIR libpq-fe.h PATH_SUFFIXES postgresql REQUIRED)
  find_library(COPPICE_PQ_LIBRARY pq REQUIRED)
  add_library(coppice_pq INTERFACE)
  target_include_directories(coppice_pq SYSTEM INTERFACE ${COPPICE_PQ_INCLUDE_DIR})
  target_link_libraries(coppice_pq INTERFACE ${COPPICE_PQ_LIBRARY})
  if(COPPICE_PYTHON)
    # Debian's interpreter, whose packages client/python/packages.txt lists, and not another one on the path.
    set(Python_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "The Python that the package `coppice` is built for")
    find_package(Python 3.11 COMPONENTS Interpreter Development.Module REQUIRED)
    find_package(pybind11 2.10 CONFIG REQUIRED)
    find_program(COPPICE_GRPC_PYTHON_PLUGIN grpc_python_plugin REQUIRED)
    set(COPPICE_PYTHON_DIR lib/python3/dist-packages CACHE STRING "Where the component python is installed, below the prefix")
  endif()
endif()

# The external libraries by their names in cmake/layers.txt.
set(COPPICE_LIBRARY_absl
  absl::algorithm_container absl::btree absl::cord absl::core_headers absl::flat_hash_map absl::flat_hash_set
  absl::function_ref absl::inlined_vector absl::int128 absl::optional absl::span absl::status absl::statusor
  absl::str_format absl::strings absl::synchronization absl::time absl::variant)
set(COPPICE_LIBRARY_boost Boost::headers)
set(COPPICE_LIBRARY_cli11 CLI11::CLI11)
set(COPPICE_LIBRARY_csv ${COPPICE_CSV_LIBRARY})
set(COPPICE_LIBRARY_eigen Eigen3::Eigen)
set(COPPICE_LIBRARY_grpc gRPC::grpc++)
set(COPPICE_LIBRARY_json nlohmann_json::nlohmann_json)
set(COPPICE_LIBRARY_lapack LAPACK::LAPACK lapacke)
set(COPPICE_LIBRARY_openssl OpenSSL::SSL OpenSSL::Crypto)
set(COPPICE_LIBRARY_postgresql coppice_pq)
set(COPPICE_LIBRARY_prometheus
  prometheus-cpp::core prometheus-cpp::pull ${COPPICE_CIVETWEB_CPP_LIBRARY} ${COPPICE_CIVETWEB_LIBRARY})
set(COPPICE_LIBRARY_protobuf protobuf::libprotobuf)
set(COPPICE_LIBRARY_pybind11 pybind11::headers)
set(COPPICE_LIBRARY_rocksdb RocksDB::rocksdb)

if(COPPICE_BUILD_TESTS OR NOT COPPICE_DEVICE_ONLY)
  find_package(nlohmann_json CONFIG REQUIRED)
endif()
if(COPPICE_BUILD_TESTS)
  find_package(GTest REQUIRED)
  if(NOT COPPICE_DEVICE_ONLY)
    find_package(benchmark REQUIRED)
  endif()
endif()
