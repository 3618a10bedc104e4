# Makes ARCHIVE of one object: the FUNCTIONS and all that they need of ARCHIVES, with every other symbol hidden.
cmake_minimum_required(VERSION 3.25)
set(object ${ARCHIVE}.o)
list(TRANSFORM FUNCTIONS PREPEND "-Wl,-u," OUTPUT_VARIABLE wanted)
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
cmake_path(GET ARCHIVE PARENT_PATH folder)
file(MAKE_DIRECTORY ${folder})
execute_process(COMMAND ${CXX} ${flags} -r -nostdlib -Wl,--gc-sections -Wl,--force-group-allocation ${wanted}
                        -o ${object} -Wl,--start-group ${ARCHIVES} -Wl,--end-group
                COMMAND_ERROR_IS_FATAL ANY)
list(TRANSFORM FUNCTIONS PREPEND "--keep-global-symbol=" OUTPUT_VARIABLE kept)
execute_process(COMMAND ${OBJCOPY} ${kept} ${object} COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${ARCHIVE})
execute_process(COMMAND ${AR} rcsD ${ARCHIVE} ${object} COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${object})
