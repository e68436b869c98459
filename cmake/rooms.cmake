# cloche_room(NAME DEPS…): a static library cloche_NAME of src/NAME/**.cc, and one test program NAME_test of its
# *_test.cc. DEPS are the rooms it may include. A room without sources is an interface library, so that the picture of
# the house can be complete before the house is.
#
# src/NAME/room.cmake, if it exists, is included once cloche_NAME exists and may set
#   CLOCHE_ROOM_TEST_LIBS   libraries that only the test program links

include(GoogleTest)
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)
if(CLOCHE_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
endif()

# fmt, compiled once and part of libcloche.a, so that who links that one does not need it.
add_library(cloche_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt/format.cc)
target_include_directories(cloche_fmt SYSTEM PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
if(CLOCHE_SANITIZE)
  target_compile_options(cloche_fmt PRIVATE -fno-sanitize=all)
endif()
set_property(GLOBAL APPEND PROPERTY CLOCHE_ROOMS_WITH_OBJECTS fmt)

# What every test program may know: where the sources are, and where this build is.
set(CLOCHE_TEST_DEFINITIONS CLOCHE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" CLOCHE_BINARY_DIR="${PROJECT_BINARY_DIR}")

# cloche_gtest(TARGET LABEL): registers each TEST of a GoogleTest program with ctest. Tests are listed when ctest
# starts, not while building, so that a program that cannot start is a failed test and not a failed build.
function(cloche_gtest target label)
  target_link_libraries(${target} PRIVATE GTest::gtest_main GTest::gmock)
  target_compile_definitions(${target} PRIVATE ${CLOCHE_TEST_DEFINITIONS})
  if(TARGET cloche-init)
    add_dependencies(${target} cloche-init)
  endif()
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS ${label} TIMEOUT 300)
endfunction()

function(cloche_room name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/main\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM ARGN PREPEND cloche_ OUTPUT_VARIABLE deps)

  if(sources)
    add_library(cloche_${name} STATIC ${sources})
    set(scope PUBLIC)
    target_compile_definitions(cloche_${name} PRIVATE
      CLOCHE_VERSION="${PROJECT_VERSION}"
      CLOCHE_INSTALL_LIBEXEC="${CMAKE_INSTALL_FULL_LIBEXECDIR}/cloche")
    set_property(GLOBAL APPEND PROPERTY CLOCHE_ROOMS_WITH_OBJECTS ${name})
  else()
    add_library(cloche_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  # Rooms are found through quotes only: with -I, <sys/file.h> of the C library would be taken for a file of src/sys.
  target_compile_options(cloche_${name} ${scope} "SHELL:-iquote ${PROJECT_SOURCE_DIR}/src")
  target_include_directories(cloche_${name} ${scope} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(cloche_${name} ${scope} ${deps} cloche_fmt Threads::Threads)
  set_property(GLOBAL APPEND PROPERTY CLOCHE_ROOMS ${name})

  set(CLOCHE_ROOM_TEST_LIBS "")
  include(${PROJECT_SOURCE_DIR}/src/${name}/room.cmake OPTIONAL)
  if(tests AND CLOCHE_TESTS)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE cloche_${name} ${CLOCHE_ROOM_TEST_LIBS})
    cloche_gtest(${name}_test unit)
  endif()
endfunction()
