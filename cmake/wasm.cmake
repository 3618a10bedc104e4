# Builds a device's rooms and the module of client/js for WebAssembly, with Debian's emscripten.
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)
# Exceptions stop the module, whose memory is then thrown away as a whole; no threads.
set(CMAKE_CXX_FLAGS_MINSIZEREL "-Oz -DNDEBUG -fno-rtti" CACHE STRING "")
