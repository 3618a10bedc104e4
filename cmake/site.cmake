# The target `site` builds the documentation as HTML files in share/doc/coppice/html beside bin/, where coppiced looks
# for it. With COPPICE_SITE=ON it is also the component doc, which fails if it is not built.
option(COPPICE_SITE "Install the documentation's site, which the target `site` builds with Sphinx, as the component doc" OFF)
set(COPPICE_SITE_DIR ${CMAKE_BINARY_DIR}/share/doc/coppice/html)
add_custom_target(site
  COMMAND ${CMAKE_COMMAND} -E env COPPICE_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${PROJECT_SOURCE_DIR}/deploy/site.sh ${COPPICE_SITE_DIR}
  COMMENT "Building the documentation's site" VERBATIM)
add_dependencies(site coppice coppiced coppice-lab)  # each prints its own reference
if(COPPICE_RELAY)
  add_dependencies(site coppice-relay)
endif()
if(COPPICE_SITE)
  install(DIRECTORY ${COPPICE_SITE_DIR} DESTINATION share/doc/coppice COMPONENT doc)
endif()
