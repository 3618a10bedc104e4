# coppice_library and coppice_binary: one target a component, its room checked; coppice_tests: one a folder.

# What every target of ours is compiled with. Our warnings are ours alone: whoever installs the client
# library does not inherit them.
add_library(coppice_options INTERFACE)
target_include_directories(coppice_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/coppice>)
target_compile_features(coppice_options INTERFACE cxx_std_20)
set(COPPICE_COMPILE_OPTIONS
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual
  -Wunused -Woverloaded-virtual -Wimplicit-fallthrough -Werror)
if(COPPICE_SANITIZER)
  list(APPEND COPPICE_COMPILE_OPTIONS
    -fsanitize=${COPPICE_SANITIZER} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(coppice_options INTERFACE
    $<BUILD_INTERFACE:-fsanitize=${COPPICE_SANITIZER}>)
endif()
add_compile_definitions(COPPICE_VERSION="${PROJECT_VERSION}")

# Rooms that a device program needs, which `cmake --install DIR --component client` installs.
set(COPPICE_CLIENT_ROOMS base privacy ldp schema tree study client)
install(TARGETS coppice_options EXPORT coppiceClient COMPONENT client)

# Where the time goes when tests run. Only these, and the tests in folders of their names, are optimized under a sanitizer: in the others a build would
# spend most of its time on the templates of gRPC and CLI11.
set(COPPICE_COMPUTING_ROOMS privacy ldp tree data study wire curator trainers lab)

# Rooms of command lines, which wait for people: with all of CLI11 in each source, that saves a
# third of their compilation and more.
set(COPPICE_WAITING_ROOMS cli)

# Rooms whose sources use little but their own: each compiled by itself. Those of others are compiled together
# under a sanitizer, where most of the time would go into reading headers; the release build, which compiles each
# by itself, sees to it that each includes what it needs.
set(COPPICE_LEAN_ROOMS privacy ldp tree trainers)

# Fuzz targets (tests/fuzz) need clang, and the address sanitizer finds what they break. They are guided by what
# runs in the rooms that read bytes from outside.
if(CMAKE_CXX_COMPILER_ID MATCHES Clang AND COPPICE_SANITIZER MATCHES address)
  set(COPPICE_FUZZES ON)
endif()
set(COPPICE_PARSING_ROOMS ldp schema tree study data wire client access curator ledger models central daemon)

# Reads cmake/layers.txt into COPPICE_SEES_<room>.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${CMAKE_CURRENT_LIST_DIR}/layers.txt)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/layers.txt layer_lines REGEX "^[a-z]")
foreach(line IN LISTS layer_lines)
  string(REPLACE "|" ";" fields "${line}")
  list(GET fields 0 room)
  list(GET fields 2 sees)
  string(STRIP "${room}" room)
  string(STRIP "${sees}" sees)
  string(REGEX REPLACE " +" ";" sees "${sees}")
  set(COPPICE_SEES_${room} ${sees})
  list(APPEND COPPICE_ROOMS ${room})
endforeach()

function(coppice_check_layer target room)
  if(NOT room IN_LIST COPPICE_ROOMS)
    message(FATAL_ERROR "${target}: room '${room}' is not in cmake/layers.txt")
  endif()
  foreach(dep IN LISTS ARGN)
    if(TARGET ${dep})
      get_target_property(theirs ${dep} COPPICE_LAYER)
      if(theirs AND NOT theirs STREQUAL room AND NOT theirs IN_LIST COPPICE_SEES_${room})
        message(FATAL_ERROR "${target} (${room}) may not use ${dep} (${theirs}): cmake/layers.txt")
      endif()
    endif()
  endforeach()
endfunction()

# coppice_library(NAME n LAYER room SRCS ... DEPS ...): coppice_<n>, alias coppice::<n>.
# Without sources the library is header-only.
function(coppice_library)
  cmake_parse_arguments(A "" "NAME;LAYER" "SRCS;DEPS" ${ARGN})
  set(target coppice_${A_NAME})
  coppice_check_layer(${target} ${A_LAYER} ${A_DEPS})
  if(A_SRCS)
    add_library(${target} STATIC ${A_SRCS})
    target_compile_options(${target} PRIVATE ${COPPICE_COMPILE_OPTIONS})
    if(COPPICE_SANITIZER AND A_LAYER IN_LIST COPPICE_COMPUTING_ROOMS)
      target_compile_options(${target} PRIVATE -O1)
    endif()
    if(A_LAYER IN_LIST COPPICE_WAITING_ROOMS)
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    if(COPPICE_SANITIZER AND NOT A_LAYER IN_LIST COPPICE_LEAN_ROOMS)
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
    endif()
    if(COPPICE_FUZZES AND A_LAYER IN_LIST COPPICE_PARSING_ROOMS)
      target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
    target_link_libraries(${target} PUBLIC coppice_options ${A_DEPS})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE coppice_options ${A_DEPS})
  endif()
  set_target_properties(${target} PROPERTIES COPPICE_LAYER ${A_LAYER})
  add_library(coppice::${A_NAME} ALIAS ${target})
  if(A_LAYER IN_LIST COPPICE_CLIENT_ROOMS)
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${A_NAME})
    install(TARGETS ${target} EXPORT coppiceClient ARCHIVE DESTINATION lib COMPONENT client)
    file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
    list(FILTER headers EXCLUDE REGEX "/collector[^/]*$")
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}
               OUTPUT_VARIABLE folder)
    install(FILES ${headers} DESTINATION include/coppice/${folder} COMPONENT client)
  endif()
endfunction()

# coppice_binary(NAME n LAYER room SRCS ... DEPS ...): build/<preset>/bin/<n>.
function(coppice_binary)
  cmake_parse_arguments(A "" "NAME;LAYER" "SRCS;DEPS" ${ARGN})
  coppice_check_layer(${A_NAME} ${A_LAYER} ${A_DEPS})
  add_executable(${A_NAME} ${A_SRCS})
  target_compile_options(${A_NAME} PRIVATE ${COPPICE_COMPILE_OPTIONS})
  target_link_libraries(${A_NAME} PRIVATE coppice_options ${A_DEPS})
endfunction()

# coppice_tests(FILES x_test ... DEPS ... [NAME n] [HELPERS h.cc ...] [NEEDS program ...] [LABELS l ...]):
# the tests of a folder.
#
# They are one program, NAME or tests/<folder>_[<label>_]tests, compiled some files at a time: most of a test file's time
# would go into the headers that all of them include. CTest has an entry <folder>/<file> for each and runs it by
# itself. NEEDS are programs that they start.
#
# Tests without a label are unit tests: the target of that name builds them, and they are what runs under the
# sanitizers; those of rooms that start or share threads are `threaded_tests` too, and carry the label
# `threads`. Labels: `slow`, `integration` (real processes), `release` (about the sources or the release build).
add_custom_target(unit_tests)
add_custom_target(threaded_tests)
function(coppice_tests)
  cmake_parse_arguments(A "" "NAME" "FILES;HELPERS;DEPS;NEEDS;LABELS" ${ARGN})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/tests
             OUTPUT_VARIABLE folder)
  string(REPLACE "/" ";" program "${folder}")
  list(APPEND program ${A_LABELS})
  list(REMOVE_DUPLICATES program)
  list(JOIN program "_" program)
  string(APPEND program "_tests")
  if(A_NAME)
    set(program ${A_NAME})
  endif()
  list(TRANSFORM A_FILES APPEND .cc OUTPUT_VARIABLE sources)
  add_executable(${program} ${sources} ${A_HELPERS})
  target_compile_options(${program} PRIVATE ${COPPICE_COMPILE_OPTIONS})
  get_filename_component(room ${folder} NAME)
  if(COPPICE_SANITIZER AND room IN_LIST COPPICE_COMPUTING_ROOMS)
    target_compile_options(${program} PRIVATE -O1)
  endif()
  target_link_libraries(${program} PRIVATE coppice_options coppice_test_main ${A_DEPS})
  set_target_properties(${program} PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6 RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(A_NEEDS)
    add_dependencies(${program} ${A_NEEDS})
  endif()

  if(NOT A_LABELS)
    add_dependencies(unit_tests ${program})
    if(folder MATCHES "^(client|server|faults)(/|$)" AND NOT folder MATCHES "^(client/cli|server/trainers)$")
      add_dependencies(threaded_tests ${program})
      set(A_LABELS threads)
    endif()
  endif()
  set(environment
    COPPICE_SOURCE_DIR=${PROJECT_SOURCE_DIR} COPPICE_BIN_DIR=${CMAKE_BINARY_DIR}/bin)
  if(COPPICE_SANITIZER STREQUAL "thread")
    # Debian's gRPC and Abseil are not instrumented; the file says what that hides.
    list(APPEND environment
      TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp:ignore_noninstrumented_modules=1)
  endif()
  foreach(file IN LISTS A_FILES)
    add_test(NAME ${folder}/${file} COMMAND ${program} --file=${file})
    set_tests_properties(${folder}/${file} PROPERTIES
      TIMEOUT 600 ENVIRONMENT "${environment}" LABELS "${A_LABELS}")
  endforeach()
endfunction()
