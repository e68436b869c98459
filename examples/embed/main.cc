// Runs a script that nobody vouches for and prints what became of it.
//   embed [PATH_OF_CLOCHE_INIT]
#include <cloche/cloche.h>

#include <iostream>

namespace {

constexpr const char* kScript = R"sh(
name=$(cat)
echo "$GREETING, $name"
echo "I may write here: $(pwd)"
cat /etc/shadow || echo "and I may not read that"
)sh";

}  // namespace

int main(int argc, char** argv) {
  auto runtime = cloche::Runtime::create({.init_path = argc > 1 ? argv[1] : ""});
  if (!runtime) {
    std::cerr << "no runtime: " << runtime.error() << '\n';
    return 1;
  }
  // Absent means denied: no files, no network, no environment. best-effort accepts a machine without cgroups.
  auto policy = cloche::PolicyBuilder("untrusted")
                    .limit("wall", "10s")
                    .limit("memory", "64M")
                    .limit("mode", "best-effort")
                    .env("GREETING", "hello")
                    .build();
  if (!policy) {
    std::cerr << "no policy: " << policy.error() << '\n';
    return 1;
  }
  const cloche::RunResult result = (*runtime)->run(
      *policy, {.script = kScript, .language = "sh", .input = "world", .on_stdout = [](std::string_view text) {
                  std::cout << text;
                }});
  std::cout << "outcome: " << result.outcome << " (exit code " << result.exit_code << ")\n";
  if (!result.message.empty()) std::cout << result.message << '\n';
  if (!result.hint.empty()) std::cout << "hint: " << result.hint << '\n';
  return result.ok() ? 0 : result.exit_code;
}
