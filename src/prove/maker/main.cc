// attack-manifest OUTPUT SOURCE…: part of the build. Collects the attack lines of the victims' sources; a line that is
// wrong ends the build.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "prove/manifest.h"
#include "sys/file.h"

namespace {

using namespace cloche;  // a program of the build, and nobody's header

Status make(int count, char** words) {
  std::vector<std::string> lines;
  for (int i = 2; i < count; ++i) {
    CLOCHE_TRY_ASSIGN(const std::string text, sys::read_file(words[i], prove::kMostManifest));
    CLOCHE_TRY_ASSIGN(std::vector<std::string> some,
                      prove::lines_of_source(std::filesystem::path(words[i]).stem().string(), text));
    lines.insert(lines.end(), some.begin(), some.end());
  }
  CLOCHE_TRY_ASSIGN(const std::string manifest, prove::make_manifest(std::move(lines)));
  CLOCHE_TRY_ASSIGN(const Fd file, sys::open_file(words[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (::write(file.get(), manifest.data(), manifest.size()) != static_cast<ssize_t>(manifest.size())) {
    return fail(ErrorCode::kSystem, words[1], "it could not be written");
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const Status done = make(argc, argv);
  if (!done) fmt::print(stderr, "attack-manifest: {}\n", done.error().text());
  return done ? 0 : 1;
}
