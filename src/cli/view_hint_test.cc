#include "cli/view_hint.h"

#include <gtest/gtest.h>

namespace cloche::cli {
namespace {

TEST(ViewHint, X4_ErrorsThatSoundLikeADirectoryWithNothingInIt) {
  for (const char* errors :
       {"make: *** No targets specified and no makefile found.  Stop.\n", "cat: notes.txt: No such file or directory\n",
        "fatal: not a git repository (or any of the parent directories): .git\n",
        "fatal: not a git repository (or any parent up to mount point /)\nStopping\n",
        "npm error enoent ENOENT: no such file or directory, open '/work/package.json'\n",
        "python3: can't open file '/work/main.py': [Errno 2] No such file or directory"}) {
    EXPECT_TRUE(sounds_like_an_empty_directory(errors)) << errors;
  }
  for (const char* errors :
       {"", "it failed\n", "cat: /srv/x: No such file or directory\n", "open '/etc/x': ENOENT\n",
        "    s.connect('/srv/no-such-sock')\nFileNotFoundError: [Errno 2] No such file or directory\n"}) {
    EXPECT_FALSE(sounds_like_an_empty_directory(errors)) << errors;
  }
}

}  // namespace
}  // namespace cloche::cli
