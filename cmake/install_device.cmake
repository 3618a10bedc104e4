# What `cmake --install BUILD --component device --prefix DIR` installs: the C interface, for pkg-config. The static
# library takes libcrypto and libstdc++ from the system, the shared one also Abseil. The component device_runtime has
# what a program that is linked with the shared library loads, for a Debian package of its own.
function(coppice_install_c_library)
  install(TARGETS coppice_device LIBRARY DESTINATION lib NAMELINK_COMPONENT device COMPONENT device)
  install(TARGETS coppice_device LIBRARY DESTINATION lib NAMELINK_SKIP COMPONENT device_runtime)
  install(FILES ${CMAKE_BINARY_DIR}/lib/libcoppice_device.a DESTINATION lib COMPONENT device)
  install(FILES ${PROJECT_SOURCE_DIR}/client/device/c/coppice_device.h DESTINATION include COMPONENT device)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/coppice-device.pc.in ${CMAKE_BINARY_DIR}/coppice-device.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/coppice-device.pc DESTINATION lib/pkgconfig COMPONENT device)
  install(FILES ${PROJECT_SOURCE_DIR}/client/device/examples/device.c ${PROJECT_SOURCE_DIR}/client/device/examples/grpc_call.c
                ${PROJECT_SOURCE_DIR}/client/device/examples/http_call.c ${PROJECT_SOURCE_DIR}/client/device/examples/grpc_call.h
                ${PROJECT_SOURCE_DIR}/docs/device.md
          DESTINATION share/doc/libcoppice-device-dev/examples COMPONENT device)
endfunction()

if(COPPICE_DEVICE_ONLY)
  # Only a whole build installs the rooms themselves.
  function(coppice_install_room room)
  endfunction()
endif()
