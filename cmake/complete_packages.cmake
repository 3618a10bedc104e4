# CPack runs this on the staged files of the packages: it adds what only Debian packages have.
cmake_minimum_required(VERSION 3.25)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} name)
  execute_process(
    COMMAND ${CPACK_COPPICE_SOURCE_DIR}/deploy/debian/complete.sh ${CPACK_TEMPORARY_DIRECTORY}/${component}
            ${CPACK_DEBIAN_${name}_PACKAGE_NAME} ${CPACK_PACKAGE_VERSION} ${CPACK_DEBIAN_PACKAGE_MAINTAINER}
            ${CPACK_COPPICE_BUILD_DIR}
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
