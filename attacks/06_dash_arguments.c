// 6. An argument that begins with "-" cannot become an option of the engine or of a backend.
//
// attack: E dash-arguments | args: --help --tier process - -- --bind / / --version | tries to become an option of the
//     engine by its arguments
#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  static const char* const expected[] = {"--help", "--tier", "process", "-", "--", "--bind", "/", "/", "--version"};
  int count = (int)(sizeof expected / sizeof *expected);
  if (argc != count + 1) BREACH("%d arguments arrived, %d were given\n", argc - 1, count);
  for (int i = 0; i < count; ++i) {
    if (strcmp(argv[i + 1], expected[i]) != 0) BREACH("argument %d is %s, not %s\n", i + 1, argv[i + 1], expected[i]);
  }
  HELD();
}
