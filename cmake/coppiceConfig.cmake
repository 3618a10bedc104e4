# find_package(coppice 0.2) provides coppice::client, a device without a network, which needs no gRPC and no Protobuf.
# It provides coppice::collector, which sends reports to the curator, if both are installed; with COMPONENTS collector
# it fails if they are not.
include(CMakeFindDependencyMacro)
find_dependency(OpenSSL 3.0)
find_dependency(absl)
include(${CMAKE_CURRENT_LIST_DIR}/coppiceClient.cmake)
set(coppice_client_FOUND TRUE)

if(NOT coppice_FIND_COMPONENTS OR "collector" IN_LIST coppice_FIND_COMPONENTS)
  find_package(Protobuf QUIET)
  find_program(COPPICE_GRPC_CPP_PLUGIN grpc_cpp_plugin)  # without it Debian's gRPC config is an error
  if(Protobuf_FOUND AND COPPICE_GRPC_CPP_PLUGIN)
    find_package(gRPC CONFIG QUIET)
  endif()
  if(Protobuf_FOUND AND gRPC_FOUND)
    include(${CMAKE_CURRENT_LIST_DIR}/coppiceCollector.cmake)
    set(coppice_collector_FOUND TRUE)
  endif()
endif()

foreach(component IN LISTS coppice_FIND_COMPONENTS)
  if(coppice_FIND_REQUIRED_${component} AND NOT coppice_${component}_FOUND)
    set(coppice_FOUND FALSE)
    if(component STREQUAL "collector")
      set(coppice_NOT_FOUND_MESSAGE "coppice::collector needs gRPC and Protobuf, on Debian: apt-get install libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc")
    else()
      set(coppice_NOT_FOUND_MESSAGE "coppice has no component ${component}; there are client and collector")
    endif()
  endif()
endforeach()
