# coppice_room makes one target per room of cmake/layers.txt; coppice_program one per main.cc; coppice_reference its
# manual page; coppice_tests one per folder of tests; coppice_test registers a test that is any other command.

# Options that every target of ours is compiled with. Users of the installed client library do not inherit our warnings.
add_library(coppice_options INTERFACE)
target_include_directories(coppice_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/coppice>)
target_compile_features(coppice_options INTERFACE cxx_std_20)
set(COPPICE_COMPILE_OPTIONS
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual
  -Wunused -Woverloaded-virtual -Wimplicit-fallthrough)
# Sources that are compiled together get undeserved warnings from GCC, and nobody's first build should stop at a
# warning: only the tested build, which compiles each source by itself, stops at warnings.
if(NOT COPPICE_UNITY)
  list(APPEND COPPICE_COMPILE_OPTIONS -Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # With -O3 GCC 12 believes that an empty std::optional's vector is used.
    list(APPEND COPPICE_COMPILE_OPTIONS -Wno-error=maybe-uninitialized)
  endif()
elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC spends a tenth of its time on collecting garbage, from 128 MB on. The largest of these units take up to 2 GB.
  list(APPEND COPPICE_COMPILE_OPTIONS -Wno-subobject-linkage -Wno-free-nonheap-object --param=ggc-min-heapsize=1048576)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  list(APPEND COPPICE_COMPILE_OPTIONS -Wthread-safety)  # common/base/mutex.h
endif()
if(COPPICE_SANITIZER)
  list(APPEND COPPICE_COMPILE_OPTIONS
    -fsanitize=${COPPICE_SANITIZER} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(coppice_options INTERFACE
    $<BUILD_INTERFACE:-fsanitize=${COPPICE_SANITIZER}>)
endif()
if(CMAKE_SIZEOF_VOID_P EQUAL 4)
  add_compile_definitions(_FILE_OFFSET_BITS=64)  # a journal may exceed 2 GiB
endif()
add_compile_definitions(COPPICE_VERSION="${PROJECT_VERSION}")

# Rooms that a device program needs: coppice::device_session is everything but its transport, coppice::device_grpc the transport,
# also through a relay. cmake/install.cmake says what `cmake --install` does with them.
set(COPPICE_CLIENT_ROOMS
  base crypto privacy ldp schema model terms encrypt wire device/session)
set(COPPICE_CARRIER_ROOMS
  device/grpc)
# Rooms that the C interface (client/device/c) links, in the order of cmake/layers.txt. None needs protobuf.
set(COPPICE_DEVICE_ROOMS ${COPPICE_CLIENT_ROOMS} device/c)

# Rooms in which tests spend their time. Only these, and the tests in folders of their names, are optimized under a
# sanitizer: in the others a build would spend most of its time on the templates of gRPC and CLI11.
set(COPPICE_COMPUTING_ROOMS
  privacy ldp model table predictor terms wire/proto lab curator/partition curator/estimation curator relay/epoch trainers/core
  trainers/evaluation trainers)

# Rooms in which a program spends its time: mechanisms, trees, estimators, trainers, and the way of a report from its bytes to
# a sum, and of a row from the store to a trainer. A release optimizes these by -O2 (trainers by -O3), and everything else by -Og: what waits for
# people, disks and networks, or for other libraries' ciphers and databases, runs no slower by it, and takes half the time to
# compile. The lab's own code tells these rooms what to do.
set(COPPICE_HOT_ROOMS
  base privacy ldp schema model terms wire evaluation table predictor curator/partition curator/estimation curator datasets trainers/core
  trainers/curves trainers/evaluation trainers research)

# Fuzz targets (tests/fuzz) need clang, and the address sanitizer to find what they break. They are guided by coverage
# of the rooms that parse bytes from outside.
if(CMAKE_CXX_COMPILER_ID MATCHES Clang AND COPPICE_SANITIZER MATCHES address)
  set(COPPICE_FUZZES ON)
endif()
set(COPPICE_PARSING_ROOMS
  ldp schema model terms encrypt wire table wire/proto device/session device/c serving/access
  store/vault store/audit_log datasets/ledger store/models datasets curator http
  relay/epoch daemon)

# Sources that are compiled together, of one room: all of them; for the sanitizers, whose builds are edited, less.
set(COPPICE_UNIT_SOURCES 24)
if(COPPICE_UNITY)
  set(COPPICE_UNIT_SOURCES 0)
endif()

# Reads cmake/layers.txt: COPPICE_NEEDS_<room> has the targets of a room's rooms, COPPICE_USES_<room> the external
# libraries.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/layers.txt)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/layers.txt layer_lines REGEX "^[a-z]")
foreach(line IN LISTS layer_lines)
  string(REPLACE "|" ";" fields "${line}")
  list(GET fields 0 room)
  list(GET fields 2 needs)
  list(GET fields 3 libraries)
  string(STRIP "${room}" room)
  if(COPPICE_DEVICE_ONLY AND NOT room IN_LIST COPPICE_DEVICE_ROOMS)
    continue()
  endif()
  separate_arguments(needs UNIX_COMMAND "${needs}")
  list(TRANSFORM needs REPLACE "/" "_")
  list(TRANSFORM needs PREPEND "coppice::")
  separate_arguments(libraries UNIX_COMMAND "${libraries}")
  if("grpc" IN_LIST libraries AND "coppice::proto" IN_LIST needs)
    list(APPEND needs coppice::proto_services)
  endif()
  list(TRANSFORM libraries PREPEND "COPPICE_LIBRARY_")
  set(COPPICE_NEEDS_${room} ${needs})
  set(COPPICE_USES_${room} "")
  foreach(library IN LISTS libraries)
    if(NOT DEFINED ${library})
      message(FATAL_ERROR "cmake/layers.txt, ${room}: no ${library} in cmake/dependencies.cmake")
    endif()
    list(APPEND COPPICE_USES_${room} ${${library}})
  endforeach()
  list(APPEND COPPICE_ROOMS ${room})
endforeach()

# coppice_room(ROOM [SOURCE...]) makes coppice_<room> with the alias coppice::<room> (a slash becomes an underscore)
# from the sources beside it. It links what cmake/layers.txt says. Without sources the library is header-only.
function(coppice_room room)
  if(NOT room IN_LIST COPPICE_ROOMS)
    message(FATAL_ERROR "room '${room}' is not in cmake/layers.txt")
  endif()
  string(REPLACE "/" "_" name "${room}")
  set(target coppice_${name})
  if(ARGN)
    add_library(${target} STATIC ${ARGN})
    target_compile_options(${target} PRIVATE ${COPPICE_COMPILE_OPTIONS})
    if(COPPICE_SANITIZER AND room IN_LIST COPPICE_COMPUTING_ROOMS)
      target_compile_options(${target} PRIVATE -O1)
    endif()
    if(room IN_LIST COPPICE_DEVICE_ROOMS)
      target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)  # a device links only what it calls
    endif()
    if(room IN_LIST COPPICE_HOT_ROOMS)
      # GCC 12 vectorizes the sums of boosting by -O3 alone.
      set(level -O2)
      if(room MATCHES "^trainers(/core)?$")
        set(level -O3)
      endif()
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
    else()
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
    endif()
    # Each of the kernel's sources is by itself where there are tests, which put sources of their own in the place of some.
    if((COPPICE_UNITY OR COPPICE_SANITIZER) AND NOT (COPPICE_BUILD_TESTS AND room STREQUAL privacy))
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${COPPICE_UNIT_SOURCES})
    endif()
    if(COPPICE_FUZZES AND room IN_LIST COPPICE_PARSING_ROOMS)
      target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
    set(visibility PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(visibility INTERFACE)
  endif()
  target_link_libraries(${target} ${visibility} coppice_options ${COPPICE_NEEDS_${room}} ${COPPICE_USES_${room}})
  add_library(coppice::${name} ALIAS ${target})
  coppice_install_room(${room} ${ARGN})
endfunction()

# coppice_program(NAME ROOM [SOURCE]) makes build/<preset>/bin/NAME from a room's main.cc or another source of it.
function(coppice_program name room)
  set(source main.cc)
  if(ARGN)
    set(source ${ARGN})
  endif()
  add_executable(${name} ${source})
  target_compile_options(${name} PRIVATE ${COPPICE_COMPILE_OPTIONS})
  string(REPLACE "/" "_" library "${room}")
  if(TARGET coppice::${library})
    target_link_libraries(${name} PRIVATE coppice::${library})
  endif()
  target_link_libraries(${name} PRIVATE coppice_options ${COPPICE_NEEDS_${room}} ${COPPICE_USES_${room}})
endfunction()

# coppice_reference(PROGRAM) writes to build/<preset>/share, in the folders of an installation, the manual page and the
# completions for bash, zsh and fish that the program itself prints. The target `reference` makes those of all programs.
set(unless_asked ALL)
if(SKBUILD)
  set(unless_asked "")  # a wheel has no programs
endif()
add_custom_target(reference ${unless_asked})
function(coppice_reference program)
  set(share ${CMAKE_BINARY_DIR}/share)
  set(pages
    "man/man1/${program}.1|manual"
    "bash-completion/completions/${program}|completion bash"
    "zsh/site-functions/_${program}|completion zsh"
    "fish/vendor_completions.d/${program}.fish|completion fish")
  foreach(page IN LISTS pages)
    string(REPLACE "|" ";" parts "${page}")
    list(GET parts 0 path)
    list(GET parts 1 command)
    separate_arguments(command UNIX_COMMAND "${command}")
    cmake_path(GET path PARENT_PATH folder)
    add_custom_command(OUTPUT ${share}/${path}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${share}/${folder}
      COMMAND ${program} ${command} > ${share}/${path}
      DEPENDS ${program} VERBATIM)
    list(APPEND made ${share}/${path})
  endforeach()
  add_custom_target(reference_${program} DEPENDS ${made})
  add_dependencies(reference reference_${program})
endfunction()

# coppice_test(NAME COMMAND [ARGUMENT...]) registers a test. It ends with all that it started, and fails instead of
# skipping itself where CI is set (tests/support/run_test.cc). Exit code 77 is a skip.
#
# The time-out is there for a test that hangs: on two slow cores with others beside it, no test takes a fifth of it. One
# that takes longer has a TIMEOUT of its own.
function(coppice_test name)
  set(command ${ARGN})
  if(TARGET run_test)
    list(GET command 0 program)
    if(TARGET ${program})
      list(REMOVE_AT command 0)
      list(PREPEND command $<TARGET_FILE:${program}>)
      add_dependencies(${program} run_test)
    endif()
    list(PREPEND command run_test)
  endif()
  add_test(NAME ${name} COMMAND ${command})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800)
endfunction()

# coppice_test_library(NAME SOURCE... DEPS ...) makes a library of what several programs of tests or benchmarks share. Its
# sources are compiled together, since most of their compile time goes into headers that all of them include.
function(coppice_test_library name)
  cmake_parse_arguments(A "" "" "DEPS" ${ARGN})
  add_library(${name} STATIC ${A_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${COPPICE_COMPILE_OPTIONS})
  target_link_libraries(${name} PUBLIC coppice_options ${A_DEPS})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
endfunction()

# coppice_tests(FILES x_test ... DEPS ... [NAME n] [HELPERS h.cc ...] [NEEDS program ...] [LABELS l ...]) builds and
# registers the tests of a folder.
#
# They are one program, NAME or tests/<folder>_[<label>_]tests, compiled several files at a time, since most of a test
# file's compile time goes into headers that all of them include. CTest has an entry <folder>/<file> per file and runs
# it by itself. NEEDS are programs that the tests start.
#
# Tests without a label are unit tests: the target of that name builds them, and they run under the sanitizers. By folder
# they get these labels:
#   plain     programs that a person starts for a moment, which read nothing of strangers but by rooms that have tests of
#             their own; the target `plain_tests` instead
#   unit      all others, unless they are about the law of what is released, to the last bit, and so about the release
#             build. COPPICE_UNIT_TESTS=OFF leaves them out of it
#   threads   rooms whose tests start threads; the target `threaded_tests` too
# Other labels: `slow`, `integration` (real processes), `release` (about the sources or the release build).
add_custom_target(unit_tests)
add_custom_target(threaded_tests)
add_custom_target(plain_tests)
set(COPPICE_PLAIN_FOLDERS client/cli common/command_line common/pages server/lab server/research)
set(COPPICE_LAW_FOLDERS common/privacy common/ldp privacy vectors)
set(COPPICE_THREADED_FOLDERS
  client/device server/serving/access server/serving/service server/datasets server/datasets/ledger
  server/curator server/daemon server/http server/store server/store/models server/store/vault
  server/relay/dealing server/relay/epoch server/relay/service)
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
  if(COPPICE_SANITIZER AND folder MATCHES "(^|/)(privacy|ldp|model|table|terms|wire|curator|trainers|lab)$")
    target_compile_options(${program} PRIVATE -O1)
  endif()
  target_link_libraries(${program} PRIVATE coppice_options coppice_test_main ${A_DEPS})
  set_target_properties(${program} PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6 RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(A_NEEDS)
    add_dependencies(${program} ${A_NEEDS})
  endif()

  if(NOT A_LABELS AND folder IN_LIST COPPICE_PLAIN_FOLDERS)
    add_dependencies(plain_tests ${program})
    set(A_LABELS plain)
  elseif(NOT A_LABELS)
    add_dependencies(unit_tests ${program})
    if(folder IN_LIST COPPICE_THREADED_FOLDERS)
      add_dependencies(threaded_tests ${program})
      list(APPEND A_LABELS threads)
    endif()
    if(NOT folder IN_LIST COPPICE_LAW_FOLDERS)
      list(APPEND A_LABELS unit)
      if(NOT COPPICE_UNIT_TESTS)
        set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL TRUE)
      endif()
    endif()
  endif()
  set(environment
    COPPICE_SOURCE_DIR=${PROJECT_SOURCE_DIR} COPPICE_BIN_DIR=${CMAKE_BINARY_DIR}/bin
    XDG_STATE_HOME=${CMAKE_BINARY_DIR}/tests/state)
  if(COPPICE_SANITIZER STREQUAL "thread")
    # Debian's gRPC and Abseil are not instrumented; the file says what that hides.
    list(APPEND environment
      TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp:ignore_noninstrumented_modules=1)
  endif()
  if(CMAKE_CROSSCOMPILING)
    list(APPEND environment COPPICE_TEST_KEPT=1)  # a device's tests start nothing, and an emulator has three times to pay
  endif()
  foreach(file IN LISTS A_FILES)
    coppice_test(${folder}/${file} ${program} --file=${file})
    set_tests_properties(${folder}/${file} PROPERTIES ENVIRONMENT "${environment}" LABELS "${A_LABELS}")
    # Tests with many draws or branches, which take ten times as long in an emulator.
    if(CMAKE_CROSSCOMPILING AND file MATCHES "^(amplification|amplification_law|samplers|noisy_sums|local_mechanism_stat|local_enumeration)_test$")
      set_property(TEST ${folder}/${file} APPEND PROPERTY LABELS long)
    endif()
  endforeach()
endfunction()
