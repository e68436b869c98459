// 59. Whatever is done on behalf of a guest counts as the guest's: names that lie in 24,576 different tables of pages,
// each of which somebody has to make in order to read a name. Run with --memory 64M.
//
// attack: A memory-of-names | options: --memory 64M | held: 0,137 | alone | names files by pointers that need 96 MiB of
//    page tables, under a limit of 64M
#include <sys/mman.h>

#include "victim.h"

enum { kPieces = 24576 };

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  printf("ATTACK\n");
  const size_t piece = (size_t)2 << 20;
  char* names = mmap(NULL, kPieces * piece, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (names == MAP_FAILED) HELD();  // the address space is limited, too
  madvise(names, kPieces * piece, MADV_NOHUGEPAGE);
  for (long i = 0; i < kPieces; ++i) (void)open(names + (size_t)i * piece, O_RDONLY);
  BREACH("96 MiB of page tables were made\n");
}
