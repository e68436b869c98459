// Paths that a guest chose, held against the table of places of secrets, and hosts that it asked for. Beyond not
// crashing: whatever lies in a place of secrets is one, whoever asks; what holds one is no less than what it holds; and
// advice never names a line that opens either.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "observe/advice.h"
#include "observe/sighting.h"
#include "policy/secret_places.h"

namespace {

using namespace cloche;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

void fuzz_path(const std::string& path, const Secrets& secrets) {
  const bool secret = is_secret_place(path, secrets);
  if (secret) require(is_secret_place(path + "/below", secrets));
  if (is_secret_entry(path, secrets)) require(secret);
  bool any = false;
  for (std::string above = path; above != "/"; above = folder_of(above)) any = any || is_secret_entry(above, secrets);
  require(any == secret);
  const bool holds = holds_secret_places(path, secrets);
  if (holds && path != "/") require(holds_secret_places(folder_of(path), secrets) || secret);
  const Plan plan;
  for (const auto right : {observe::Right::kRead, observe::Right::kWrite, observe::Right::kExecute}) {
    for (const bool directory : {false, true}) {
      const observe::Advice advice = observe::advise_path(path, right, {plan, true, directory, &secrets});
      require(advice.allow.empty() != advice.never.empty());
      if (secret || (directory && holds)) require(advice.allow.empty());
    }
  }
}

void fuzz_host(const std::string& host) {
  const bool kept = !reason_to_keep_from(host).empty();
  require(kept == observe::advise_host(host).allow.empty());
  if (host.find_first_of(":[]%") == std::string::npos) require(kept == !reason_to_keep_from(host + ":80").empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Secrets of_nobody;
  const Secrets of_host{.home = "/home/me", .places = {"/srv/kept"}, .search = {}, .homes = {"/srv/homes/you"}};
  for (const char* from : {"/", "/home/me", "/srv/homes/you", "/root"}) {
    const std::string path = observe::absolute(from, text.starts_with('/') ? "." + text : text);
    fuzz_path(path, of_nobody);
    fuzz_path(path, of_host);
    if (is_secret_place(path, of_nobody)) require(is_secret_place(path, of_host));
  }
  fuzz_host(text);
  return 0;
}
