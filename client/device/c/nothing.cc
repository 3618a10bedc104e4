// A library of CMake's needs a source; what is in this one comes from the rooms (CMakeLists.txt).
