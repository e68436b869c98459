# Runs before the C library has begun: no sanitizer, no stack protector, no call that the compiler makes up.
target_compile_options(cloche_door PRIVATE -fno-sanitize=all -fno-stack-protector -ffreestanding -fno-builtin
  -fno-exceptions -fno-rtti -O2)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(cloche_door PRIVATE -fno-tree-loop-distribute-patterns)
endif()

# A start that asks the cpu nothing (begin.cc), where it is known to be right: for one release of one library, if a trial of
# it runs. A build for another machine cannot try, and goes without.
if(CLOCHE_STATIC AND NOT CLOCHE_SANITIZE AND NOT CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(CLOCHE_BEGIN_SOURCES ${CMAKE_CURRENT_LIST_DIR}/begin.cc ${CMAKE_CURRENT_LIST_DIR}/entry.cc
      ${PROJECT_SOURCE_DIR}/tests/door/trial.cc)
  set(CLOCHE_BEGIN_LINK -static -no-pie -Wl,-e,cloche_door)
  if(CLOCHE_LLD)
    list(APPEND CLOCHE_BEGIN_LINK -fuse-ld=lld)
  endif()
  # Tried again when the library or one of these files is another.
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libc.a OUTPUT_VARIABLE libc OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(tried "${CMAKE_CXX_COMPILER} ${CLOCHE_BEGIN_LINK}")
  foreach(file ${libc} ${CMAKE_CURRENT_LIST_DIR}/begin.h ${CLOCHE_BEGIN_SOURCES})
    if(EXISTS ${file})
      file(SHA256 ${file} digest)
      string(APPEND tried " ${digest}")
    endif()
  endforeach()
  if(NOT CLOCHE_BEGIN_TRIED STREQUAL tried)
    unset(CLOCHE_BEGIN_TRIAL CACHE)
    set(CLOCHE_BEGIN_TRIED "${tried}" CACHE INTERNAL "what CLOCHE_BEGIN_TRIAL is of")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/begin.h ${CLOCHE_BEGIN_SOURCES})
  if(NOT DEFINED CLOCHE_BEGIN_TRIAL)
    try_run(CLOCHE_BEGIN_TRIAL CLOCHE_BEGIN_BUILT SOURCES ${CLOCHE_BEGIN_SOURCES}
      COMPILE_DEFINITIONS -DCLOCHE_OWN_BEGIN -iquote ${PROJECT_SOURCE_DIR}/src -fno-stack-protector -fno-builtin -O1 CXX_STANDARD 23
      LINK_OPTIONS ${CLOCHE_BEGIN_LINK} ARGS own)
  endif()
  if(NOT CLOCHE_BEGIN_TRIAL STREQUAL "0")
    message(STATUS "cloche begins as the C library does (trial: ${CLOCHE_BEGIN_TRIAL})")
  else()
    message(STATUS "cloche begins without asking the cpu")
    target_compile_definitions(cloche_door PRIVATE CLOCHE_OWN_BEGIN)
    if(CLOCHE_TESTS)
      add_executable(cloche_begin_trial ${PROJECT_SOURCE_DIR}/tests/door/trial.cc)
      target_link_libraries(cloche_begin_trial PRIVATE cloche_door)
      target_link_options(cloche_begin_trial PRIVATE ${CLOCHE_BEGIN_LINK} -Wl,-u,cloche_door)
      add_test(NAME door.begins COMMAND cloche_begin_trial own)
      add_test(NAME door.begins_as_the_library_does COMMAND cloche_begin_trial library)
      # What this start does not prepare: the main thread's end before the program's, and what opens libraries at run time.
      add_test(NAME door.begins_what_can_do_without
               COMMAND sh -c "nm $<TARGET_FILE:cloche> | grep -q ' cloche_begin$' && \
! nm $<TARGET_FILE:cloche> | grep -E ' [TtWw] (pthread_exit|pthread_cancel|setlocale|getaddrinfo|getpwuid)$'")
      set_tests_properties(door.begins door.begins_as_the_library_does door.begins_what_can_do_without PROPERTIES LABELS unit)
      set_tests_properties(door.begins PROPERTIES ENVIRONMENT_MODIFICATION GLIBC_TUNABLES=unset:)
      set_tests_properties(door.begins_as_the_library_does PROPERTIES ENVIRONMENT GLIBC_TUNABLES=glibc.malloc.perturb=1)
    endif()
  endif()
endif()

if(CLOCHE_TESTS)
  # "U" is what an object wants of another: nothing here but the program's own start, and each other. What comes after the
  # door, and wants the library, is in begin.cc.
  add_test(NAME door.needs_no_library
           COMMAND sh -c "! nm -A -u $<TARGET_FILE:cloche_door> | grep ' U ' | grep -v ':begin.cc.o:' \
| grep -vE ' (_start|cloche_hand_over|cloche_begin)$'")
  set_tests_properties(door.needs_no_library PROPERTIES LABELS unit)
endif()
