// weaken run --without WHAT… [options of cloche run] -- PROGRAM ARGS: plans like the engine, takes guarantees out,
// runs. Without --without it is the plain plan, launched with no engine around it.
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "host/probe.h"
#include "policy/overrides.h"
#include "policy/parse.h"
#include "weaken.h"

namespace cloche::security {
namespace {

struct Options {
  Policy policy;
  std::vector<std::string> without;
  Request request;
};

Result<Policy> read_policy(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return parse_policy(text.str(), path);
}

Status apply(Options& options, const std::string& flag, const std::string& value) {
  static const std::map<std::string, std::string> kScalars = {
      {"--wall", "limits.wall"}, {"--memory", "limits.memory"},     {"--pids", "limits.pids"},
      {"--cpus", "limits.cpus"}, {"--output", "limits.output"},     {"--files", "limits.files"},
      {"--disk", "limits.disk"}, {"--cpu-time", "limits.cpu_time"}, {"--tier", "tier"},
      {"--backend", "backend"}};
  FileGrants& files = options.policy.files;
  if (flag == "--policy") {
    CLOCHE_TRY_ASSIGN(options.policy, read_policy(value));
  } else if (flag == "--without") {
    options.without.push_back(value);
  } else if (flag == "--read") {
    files.read.push_back(value);
  } else if (flag == "--write") {
    files.write.push_back(value);
  } else if (flag == "--exec") {
    files.exec.push_back(value);
  } else if (flag == "--env") {
    options.policy.env.set[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
  } else if (flag == "--set") {
    return set_scalar(options.policy, value.substr(0, value.find('=')), value.substr(value.find('=') + 1), flag);
  } else if (const auto key = kScalars.find(flag); key != kScalars.end()) {
    return set_scalar(options.policy, key->second, value, flag);
  } else {
    return fail(ErrorCode::kInvalidInput, "weaken", "unknown option " + flag);
  }
  return {};
}

Result<Options> parse(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      options.request.argv.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (words[i] == "--quiet" || words[i] == "--stdin") continue;
    if (words[i] == "--tty") {
      options.request.tty = true;
      continue;
    }
    if (i + 1 >= words.size()) return fail(ErrorCode::kInvalidInput, "weaken", words[i] + " needs a value");
    CLOCHE_TRY(apply(options, words[i], words[i + 1]));
    ++i;
  }
  if (options.request.argv.empty()) return fail(ErrorCode::kInvalidInput, "weaken", "no program was given");
  return options;
}

Result<int> weaken_and_run(const std::vector<std::string>& words) {
  CLOCHE_TRY_ASSIGN(Options options, parse(words));
  options.request.id = "weaken-" + std::to_string(::getpid());
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string entry = *at;
    options.request.env[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
  }
  const HostFacts host = probe_fast();
  CLOCHE_TRY_ASSIGN(Plan plan, make_plan(options.policy, options.request, host));
  for (const std::string& what : options.without) CLOCHE_TRY(weaken(plan, what));
  return launch_and_wait(plan, host);
}

}  // namespace
}  // namespace cloche::security

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "run") words.erase(words.begin());
  const auto code = cloche::security::weaken_and_run(words);
  if (code) return *code;
  std::fprintf(stderr, "weaken: %s\n", code.error().text().c_str());
  return code.error().code == cloche::ErrorCode::kRefused ? 126 : 125;
}
