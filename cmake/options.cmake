option(CLOCHE_STATIC "Link cloche statically: its own start-up is part of every run" ON)
option(CLOCHE_TESTS "Build the tests" ON)
option(CLOCHE_BENCH "Build the benchmarks" OFF)
option(CLOCHE_FUZZ "Build the fuzz targets (clang)" OFF)
option(CLOCHE_INIT "Build cloche-init, which needs musl" ON)
set(CLOCHE_SANITIZE "" CACHE STRING "Sanitizers, for example address,undefined")

# BASEDIR and NOHASHDIR let two checkouts of the same sources share one cache.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
endif()

# Programs of one build lie side by side: cloche finds cloche-init beside itself, and so do the tests.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

# libcloche.a may end up in a position-independent program or in a shared module. Hidden visibility keeps that free of
# cost for the static executable: no call goes through a table.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror)
add_compile_options(-ffunction-sections -fdata-sections -fstack-protector-strong)
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
add_compile_definitions(_GNU_SOURCE)
add_link_options(-Wl,--gc-sections)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports overlapping copies inside std::string where there are none (GCC bug 105651).
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized)
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # libstdc++ 12 uses its own deprecated std::get_temporary_buffer in std::stable_sort.
  add_compile_options(-Wno-deprecated-declarations)
endif()

if(CLOCHE_SANITIZE)
  set(CLOCHE_STATIC OFF)
  add_compile_options(-fsanitize=${CLOCHE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CLOCHE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The checks that the sanitizers insert confuse GCC's flow analysis.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
elseif(CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$")
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -D_GLIBCXX_ASSERTIONS)
endif()
