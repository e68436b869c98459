# What is installed: bin/cloche, libexec/cloche/cloche-init and cloche-keeper, include/cloche, one libcloche.a with every room in it, the
# CMake package cloche (target cloche::cloche) and the schemas.
include(CMakePackageConfigHelpers)

# cloche_library(EXCEPT rooms…): libcloche.a, made of the objects of all rooms but those named. One archive, because the
# rooms are ours to rearrange: an embedding program must not have to name them.
function(cloche_library)
  cmake_parse_arguments(ARG "" "" "EXCEPT" ${ARGN})
  get_property(rooms GLOBAL PROPERTY CLOCHE_ROOMS_WITH_OBJECTS)
  list(REMOVE_ITEM rooms ${ARG_EXCEPT})
  list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_OBJECTS:cloche_\\1>" OUTPUT_VARIABLE objects)
  if(NOT objects)
    return()
  endif()
  add_library(cloche_library STATIC ${objects})
  set_target_properties(cloche_library PROPERTIES OUTPUT_NAME cloche EXPORT_NAME cloche LINKER_LANGUAGE CXX)
  target_include_directories(cloche_library INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(cloche_library INTERFACE cxx_std_23)
  target_link_libraries(cloche_library INTERFACE Threads::Threads)
  add_library(cloche::cloche ALIAS cloche_library)

  install(TARGETS cloche_library EXPORT cloche-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT cloche-targets NAMESPACE cloche:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/cloche)
  configure_package_config_file(cmake/cloche-config.cmake.in ${PROJECT_BINARY_DIR}/cloche-config.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/cloche)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/cloche-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/cloche-config.cmake ${PROJECT_BINARY_DIR}/cloche-config-version.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/cloche)
endfunction()

# Only this linker can lay functions in a given order. Without it programs start a little more slowly.
find_program(CLOCHE_LLD ld.lld)

# cloche_program(NAME ROOM FOLDER): the executable NAME of src/ROOM/main.cc, installed into FOLDER. cmake/NAME.order, if it
# exists, has the functions that are to lie side by side (tools/launch-order).
function(cloche_program name room folder)
  add_executable(${name} ${PROJECT_SOURCE_DIR}/src/${room}/main.cc)
  target_link_libraries(${name} PRIVATE cloche_${room})
  target_compile_definitions(${name} PRIVATE CLOCHE_VERSION="${PROJECT_VERSION}")
  if(CLOCHE_STATIC)
    # Not position-independent: a static-pie program relocates itself on every start.
    target_link_options(${name} PRIVATE -static -no-pie)
    set(order ${PROJECT_SOURCE_DIR}/cmake/${name}.order)
    if(CLOCHE_LLD AND EXISTS ${order})
      target_link_options(${name} PRIVATE -fuse-ld=lld -Wl,--symbol-ordering-file=${order} -Wl,--no-warn-symbol-ordering)
      set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${order})
    endif()
  endif()
  # The linker writes its file page by page, and so it lies in memory. A copy lies there in large pieces, larger by cp than
  # by cmake, which the kernel maps and unmaps at once (docs/performance.md). What is installed is a copy anyway.
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND cp $<TARGET_FILE:${name}> $<TARGET_FILE:${name}>.copy
    COMMAND ${CMAKE_COMMAND} -E rename $<TARGET_FILE:${name}>.copy $<TARGET_FILE:${name}>)
  if(TARGET cloche-init)
    add_dependencies(${name} cloche-init)
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION ${folder})
endfunction()

# cloche_first(NAME ROOM): the static program NAME begins in src/ROOM/entry.cc, before the C library (src/door/door.h). In
# other builds main() calls the same code.
function(cloche_first name room)
  if(CLOCHE_STATIC AND NOT CLOCHE_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-e,cloche_door -Wl,-u,cloche_door)
    target_compile_definitions(${name} PRIVATE CLOCHE_DOOR_FIRST)
  endif()
endfunction()

function(cloche_install_data)
  install(DIRECTORY include/cloche DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
  file(GLOB schemas CONFIGURE_DEPENDS docs/*.schema.json)
  if(schemas)
    install(FILES ${schemas} DESTINATION ${CMAKE_INSTALL_DATADIR}/cloche)
  endif()
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endfunction()
