# cloche_init(DEPS…): the program cloche-init, pid 1 of a cell, from src/init/*.cc. It is started for every run and
# stays resident, so it is a small static program on musl without the C++ library (a static glibc program takes about
# three times as long to exec). It is never sanitised: it runs under the cell's own limits and filter.
#
# The link line is spelled out instead of using musl's compiler wrapper: that one is for C, and it would let headers of
# the C++ library, built for another libc, slip in.

# cloche_find_musl(OUT_INCLUDE OUT_LIB): where Debian's musl-dev has put itself for this machine.
function(cloche_find_musl out_include out_lib)
  set(triple ${CMAKE_SYSTEM_PROCESSOR}-linux-musl)
  foreach(candidate "/usr/include/${triple};/usr/lib/${triple}" "/usr/local/musl/include;/usr/local/musl/lib")
    list(GET candidate 0 include_dir)
    list(GET candidate 1 lib_dir)
    if(EXISTS ${include_dir}/stdio.h AND EXISTS ${lib_dir}/crt1.o AND EXISTS ${lib_dir}/libc.a)
      set(${out_include} ${include_dir} PARENT_SCOPE)
      set(${out_lib} ${lib_dir} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "cloche-init: no musl for ${triple}; run tools/setup build, or configure with -DCLOCHE_INIT=OFF")
endfunction()

# cloche_kernel_headers(OUT): a folder that holds the kernel's headers and nothing of glibc, which lie side by side in
# /usr/include; with that folder itself on the path, a header that musl lacks would come from glibc in silence.
function(cloche_kernel_headers out)
  set(folder ${PROJECT_BINARY_DIR}/kernel_headers)
  file(MAKE_DIRECTORY ${folder})
  foreach(part linux asm-generic asm)
    set(found "")
    foreach(base /usr/include/${CMAKE_CXX_LIBRARY_ARCHITECTURE} /usr/include)
      if(NOT found AND EXISTS ${base}/${part})
        set(found ${base}/${part})
      endif()
    endforeach()
    if(NOT found)
      message(FATAL_ERROR "cloche-init: the kernel's headers <${part}/…> are missing; run tools/setup build")
    endif()
    file(CREATE_LINK ${found} ${folder}/${part} SYMBOLIC)
  endforeach()
  set(${out} ${folder} PARENT_SCOPE)
endfunction()

function(cloche_init)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/init/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  if(tests AND CLOCHE_TESTS)
    set(testable ${sources})
    list(FILTER testable EXCLUDE REGEX "/main\\.cc$")
    add_executable(init_test ${tests} ${testable})
    target_compile_options(init_test PRIVATE "SHELL:-iquote ${PROJECT_SOURCE_DIR}/src")
    cloche_gtest(init_test unit)
  endif()
  if(NOT sources OR NOT CLOCHE_INIT)
    return()
  endif()

  cloche_find_musl(musl_include musl_lib)
  cloche_kernel_headers(kernel_include)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=include
                  OUTPUT_VARIABLE compiler_include OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

  set(compile_options
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror
    -Os -g0 -fno-pie -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-asynchronous-unwind-tables
    -fno-unwind-tables -fstack-protector-strong -ffunction-sections -fdata-sections
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -nostdinc -nostdinc++
    "SHELL:-iquote ${PROJECT_SOURCE_DIR}/src" "SHELL:-isystem ${musl_include}" "SHELL:-isystem ${compiler_include}"
    "SHELL:-isystem ${kernel_include}")
  set(link_options
    -nostdlib -static -no-pie -s -Wl,--gc-sections -Wl,-z,noseparate-code -Wl,-z,noexecstack -Wl,--build-id=none
    ${musl_lib}/crt1.o ${musl_lib}/crti.o)

  # Set, not appended: what the rest of the house is built with (sanitizers, hardening for glibc) ends here.
  add_executable(cloche-init ${sources})
  set_target_properties(cloche-init PROPERTIES
    POSITION_INDEPENDENT_CODE OFF
    COMPILE_OPTIONS "${compile_options}"
    COMPILE_DEFINITIONS "_GNU_SOURCE"
    LINK_OPTIONS "${link_options}")
  target_link_libraries(cloche-init PRIVATE
    -Wl,--start-group ${musl_lib}/libc.a -lgcc -Wl,--end-group ${musl_lib}/crtn.o)
  install(TARGETS cloche-init RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cloche)
endfunction()
