// weaken [--without WHAT]… run …: the command line of cloche with guarantees taken out. See weaken.h.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "weaken.h"

int cloche_main(int argc, char** argv);  // src/cli/main.cc

namespace cloche::security {
namespace {

constexpr std::string_view kInit = "init:";

// loose-init is told by its name what to leave out.
Status use_loose_init(const std::string& words) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path init = here / ("loose-init" + words);
  fs::copy_file(here / "loose-init", init, fs::copy_options::skip_existing, error);
  if (error) return fail(ErrorCode::kSystem, "weaken", init.string() + ": " + error.message());
  ::setenv("CLOCHE_INIT", init.c_str(), 1);
  return {};
}

Result<std::vector<char*>> prepare(int argc, char** argv) {
  std::vector<std::string> words;
  std::string init_words;
  std::vector<char*> rest{argv[0]};
  int at = 1;
  for (; at + 1 < argc && std::string_view(argv[at]) == "--without"; at += 2) {
    const std::string_view what = argv[at + 1];
    if (what.starts_with(kInit)) {
      init_words += "." + std::string(what.substr(kInit.size()));
    } else {
      words.emplace_back(what);
    }
  }
  choose(words);
  if (!init_words.empty()) CLOCHE_TRY(use_loose_init(init_words));
  for (; at < argc; ++at) {
    if (!without("dashes") || std::string_view(argv[at]) != "--") rest.push_back(argv[at]);
  }
  return rest;
}

}  // namespace
}  // namespace cloche::security

int main(int argc, char** argv) {
  auto words = cloche::security::prepare(argc, argv);
  if (!words) {
    std::fprintf(stderr, "weaken: %s\n", words.error().text().c_str());
    return 125;
  }
  const int count = static_cast<int>(words->size());
  words->push_back(nullptr);
  return cloche_main(count, words->data());
}
