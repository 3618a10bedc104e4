# What `cmake --install BUILD --component client|server|relay|tools|device|device_runtime|python|doc --prefix DIR`
# installs. Documents go where Debian's package of the component keeps them: share/doc/libcoppice-dev, coppiced,
# coppice-relay, coppice, libcoppice-device-dev, libcoppice-device1 and python3-coppice. The component python exists if
# the Python package is configured (COPPICE_PYTHON), the component relay with COPPICE_RELAY (server/relay/CMakeLists.txt),
# the component doc with COPPICE_SITE (cmake/site.cmake).
#
# check_install.cmake runs first: it refuses an unknown component, and one whose files are not built.
set(COPPICE_COMPONENTS client server tools device device_runtime)
if(COPPICE_RELAY)
  list(APPEND COPPICE_COMPONENTS relay)
  set(relay_program $<TARGET_FILE:coppice-relay>)
endif()
if(COPPICE_PYTHON)
  list(APPEND COPPICE_COMPONENTS python)
  set(python_core $<TARGET_FILE:coppice_python_core>)
endif()
if(COPPICE_SITE)
  list(APPEND COPPICE_COMPONENTS doc)
endif()
install(CODE "
  set(COPPICE_COMPONENTS ${COPPICE_COMPONENTS})
  set(COPPICE_BUILD_DIR \"${CMAKE_BINARY_DIR}\")
  set(COPPICE_BUILT_client \"$<TARGET_GENEX_EVAL:coppice_options,$<TARGET_PROPERTY:coppice_options,COPPICE_BUILT_client>>\")
  set(COPPICE_BUILT_device \"$<TARGET_LINKER_FILE:coppice_device>\")
  set(COPPICE_BUILT_device_runtime \"$<TARGET_LINKER_FILE:coppice_device>\")
  set(COPPICE_BUILT_server \"$<TARGET_FILE:coppiced>;$<TARGET_PROPERTY:console,COPPICE_BUILT_console>\")
  set(COPPICE_BUILT_relay \"${relay_program}\")
  set(COPPICE_BUILT_python \"${python_core}\")
  set(COPPICE_BUILT_doc \"${CMAKE_BINARY_DIR}/share/doc/coppice/html/index.html\")
  set(COPPICE_BUILT_tools \"$<TARGET_FILE:coppice>;$<TARGET_FILE:coppice-lab>\")
  " ALL_COMPONENTS)
install(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/check_install.cmake ALL_COMPONENTS)

# coppice_install_archives(EXPORT TARGET...) installs libraries that a device links.
function(coppice_install_archives export)
  install(TARGETS ${ARGN} EXPORT ${export} ARCHIVE DESTINATION lib COMPONENT client)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  set_property(TARGET coppice_options APPEND PROPERTY COPPICE_BUILT_client ${ARGN})
endfunction()

# coppice_install_room(ROOM SOURCE...) installs the archive of a room that devices need, and its headers. The rooms proto and wire
# install no headers: theirs include generated code.
function(coppice_install_room room)
  string(REPLACE "/" "_" name "${room}")
  if(room IN_LIST COPPICE_CLIENT_ROOMS)
    set(export coppiceClient)
  elseif(room IN_LIST COPPICE_CARRIER_ROOMS)
    set(export coppiceCollector)
  else()
    return()
  endif()
  set(exported ${name})
  if(room STREQUAL "device/session")
    set(exported client)  # the name of the component
  elseif(room STREQUAL "device/grpc")
    set(exported collector)
  endif()
  set_target_properties(coppice_${name} PROPERTIES EXPORT_NAME ${exported})
  coppice_install_archives(${export} coppice_${name})
  if(room IN_LIST COPPICE_CLIENT_ROOMS OR room STREQUAL "device/grpc")
    # Folders of a room that are no rooms (common/ldp/payload) belong to it.
    foreach(source IN LISTS ARGN ITEMS here.cc)
      cmake_path(GET source PARENT_PATH inside)
      if(NOT IS_ABSOLUTE "${source}" AND NOT inside IN_LIST folders_seen)
        list(APPEND folders_seen "${inside}")
        file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${inside}/*.h)
        cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
        install(FILES ${headers} DESTINATION include/coppice/${folder}/${inside} COMPONENT client)
      endif()
    endforeach()
  endif()
endfunction()

include(cmake/install_device.cmake)

# The component client has files for find_package(coppice) and pkg-config, and the wire contract.
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/coppiceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS coppice_options EXPORT coppiceClient COMPONENT client)
foreach(export coppiceClient coppiceCollector)
  install(EXPORT ${export} NAMESPACE coppice:: DESTINATION lib/cmake/coppice COMPONENT client)
endforeach()
install(FILES cmake/coppiceConfig.cmake ${CMAKE_BINARY_DIR}/coppiceConfigVersion.cmake
        DESTINATION lib/cmake/coppice COMPONENT client)
install(DIRECTORY proto/coppice DESTINATION share/coppice/proto COMPONENT client
        FILES_MATCHING PATTERN "*.proto" PATTERN storage.proto EXCLUDE)
install(FILES client/device/examples/device.cc DESTINATION share/doc/libcoppice-dev/examples COMPONENT client)

# Archives in the order that a linker needs: layers.txt from its end.
set(reversed_rooms ${COPPICE_ROOMS})
list(REVERSE reversed_rooms)
foreach(room IN LISTS reversed_rooms)
  string(REPLACE "/" "_" name "${room}")
  if(room IN_LIST COPPICE_CLIENT_ROOMS)
    string(APPEND COPPICE_CLIENT_ARCHIVES " -lcoppice_${name}")
  elseif(room STREQUAL "proto")
    string(APPEND COPPICE_COLLECTOR_ARCHIVES " -lcoppice_proto_services -lcoppice_proto")
  elseif(room IN_LIST COPPICE_CARRIER_ROOMS)
    string(APPEND COPPICE_COLLECTOR_ARCHIVES " -lcoppice_${name}")
  endif()
endforeach()
string(REPLACE "absl::" "absl_" COPPICE_ABSL_MODULES "${COPPICE_LIBRARY_absl}")
list(JOIN COPPICE_ABSL_MODULES " " COPPICE_ABSL_MODULES)
foreach(module coppice coppice-collector)
  configure_file(cmake/${module}.pc.in ${CMAKE_BINARY_DIR}/${module}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${module}.pc DESTINATION lib/pkgconfig COMPONENT client)
endforeach()

# The component server has the daemon, its unit, its configuration, documents and helpers, and the console
# (client/console).
install(CODE "
  set(COPPICE_SOURCE_DIR \"${PROJECT_SOURCE_DIR}\")
  set(COPPICE_INSTALLED coppiced)" COMPONENT server)
install(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/install_server.cmake COMPONENT server)
install(PROGRAMS deploy/make-certs.sh DESTINATION share/coppiced COMPONENT server)
install(FILES docs/operating.md docs/postgresql.md docs/fleet.md docs/protocol.md docs/storage.md docs/threat-model.md
              SECURITY.md
        DESTINATION share/doc/coppiced COMPONENT server)
install(FILES deploy/prometheus/alerts.yml deploy/grafana/coppice.json deploy/systemd/fleet.conf deploy/fleet/haproxy.cfg
              deploy/fleet/patroni.yml
        DESTINATION share/doc/coppiced/examples COMPONENT server)

# coppice_install_words(PROGRAM COMPONENT) installs the manual page and the completions, which the target `reference`
# builds.
function(coppice_install_words program component)
  foreach(path man/man1/${program}.1 bash-completion/completions/${program} zsh/site-functions/_${program}
               fish/vendor_completions.d/${program}.fish)
    cmake_path(GET path PARENT_PATH folder)
    install(FILES ${CMAKE_BINARY_DIR}/share/${path} DESTINATION share/${folder} COMPONENT ${component})
  endforeach()
endfunction()
coppice_install_words(coppice tools)
coppice_install_words(coppice-lab tools)
coppice_install_words(coppiced server)

# coppice_install_copyright(COMPONENT PACKAGE) installs what every Debian package has.
function(coppice_install_copyright component package)
  install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/deploy/debian/copyright
          DESTINATION share/doc/${package} COMPONENT ${component})
endfunction()
foreach(component_package "client;libcoppice-dev" "server;coppiced" "tools;coppice" "device;libcoppice-device-dev"
        "device_runtime;libcoppice-device1" "python;python3-coppice" "doc;coppice-doc")
  coppice_install_copyright(${component_package})
endforeach()
