# Runs before the C library has begun: no sanitizer, no stack protector, no call that the compiler makes up.
target_compile_options(cloche_door PRIVATE -fno-sanitize=all -fno-stack-protector -ffreestanding -fno-builtin
  -fno-tree-loop-distribute-patterns -fno-exceptions -fno-rtti -O2)
