# The console (client/console), which the target `console` builds with Node into share/coppice/console beside bin/: coppiced
# serves what it finds there. Everything else is built without Node.
set(COPPICE_CONSOLE AUTO CACHE STRING
    "Build the console: ON, OFF, or AUTO, which leaves it out where Node 18, npm or what the console needs of npm's registry is missing")
set_property(CACHE COPPICE_CONSOLE PROPERTY STRINGS AUTO ON OFF)
set(COPPICE_CONSOLE_DIR ${CMAKE_BINARY_DIR}/share/coppice/console)
set(COPPICE_CONSOLE_SOURCES ${PROJECT_SOURCE_DIR}/client/console)

set(console_lacks "")
if(NOT COPPICE_CONSOLE)
  return()
elseif(NOT EXISTS ${COPPICE_CONSOLE_SOURCES}/package-lock.json)
  set(console_lacks "its sources, client/console")
else()
  find_program(COPPICE_NODE node)
  find_program(COPPICE_NPM npm)
  if(COPPICE_NODE AND COPPICE_NPM)
    execute_process(COMMAND ${COPPICE_NODE} --version OUTPUT_VARIABLE node_version OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REGEX REPLACE "^v" "" node_version "${node_version}")
    if(node_version VERSION_LESS 18)
      set(console_lacks "Node 18 or newer; ${COPPICE_NODE} is ${node_version}")
    endif()
  else()
    set(console_lacks "Node and npm; on Debian: apt-get install nodejs npm")
  endif()
endif()
if(console_lacks)
  if(COPPICE_CONSOLE STREQUAL "AUTO")
    message(STATUS "The console is left out, for want of ${console_lacks}")
    return()
  endif()
  message(FATAL_ERROR "COPPICE_CONSOLE is ${COPPICE_CONSOLE}, and the console needs ${console_lacks}")
endif()

file(GLOB_RECURSE console_files CONFIGURE_DEPENDS
     ${COPPICE_CONSOLE_SOURCES}/src/* ${COPPICE_CONSOLE_SOURCES}/*.mjs ${PROJECT_SOURCE_DIR}/proto/*.proto
     ${PROJECT_SOURCE_DIR}/common/report/style/*.css)
list(FILTER console_files EXCLUDE REGEX "/client/console/(node_modules|build)/")
add_custom_command(
  OUTPUT ${COPPICE_CONSOLE_DIR}/index.html
  COMMAND ${PROJECT_SOURCE_DIR}/deploy/console/build.sh ${COPPICE_CONSOLE_SOURCES} ${COPPICE_CONSOLE_DIR} ${COPPICE_CONSOLE}
  DEPENDS ${console_files} ${COPPICE_CONSOLE_SOURCES}/package.json ${COPPICE_CONSOLE_SOURCES}/package-lock.json
          ${COPPICE_CONSOLE_SOURCES}/tsconfig.json ${PROJECT_SOURCE_DIR}/deploy/console/build.sh
  COMMENT "Building the console" VERBATIM)
set(console_in_all "")
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT COPPICE_SANITIZER AND NOT SKBUILD)
  set(console_in_all ALL)
endif()
add_custom_target(console ${console_in_all} DEPENDS ${COPPICE_CONSOLE_DIR}/index.html)
