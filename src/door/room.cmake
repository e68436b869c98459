# Runs before the C library has begun: no sanitizer, no stack protector, no call that the compiler makes up.
target_compile_options(cloche_door PRIVATE -fno-sanitize=all -fno-stack-protector -ffreestanding -fno-builtin
  -fno-exceptions -fno-rtti -O2)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(cloche_door PRIVATE -fno-tree-loop-distribute-patterns)
endif()
if(CLOCHE_TESTS)
  # "U" is what an object wants of another: nothing here but the program's own start, and each other.
  add_test(NAME door.needs_no_library
           COMMAND sh -c "! nm -u $<TARGET_FILE:cloche_door> | grep ' U ' | grep -vE ' (_start|cloche_hand_over)$'")
  set_tests_properties(door.needs_no_library PROPERTIES LABELS unit)
endif()
