// Cloche as a library: run code that nobody vouches for, from inside your own program.
//
//   auto runtime = cloche::Runtime::create({});
//   auto policy = cloche::PolicyBuilder("untrusted").limit("memory", "256M").build();
//   cloche::RunResult result = (*runtime)->run(*policy, {.script = "print(6 * 7)", .language = "python"});
//
// One Runtime has one supervising thread, which serves any number of runs at once. It installs no signal handler and
// changes nothing process-wide. Its cells are children of your process, so your own SIGCHLD handler hears of them; one
// that reaps everybody does no harm, the outcome does not come from there. Every function may be called from any
// thread. Needs the C++23 standard library and nothing else.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cloche {

struct Policy;

// A checked policy; cheap to copy, shared between runs.
class PolicyHandle {
 public:
  const Policy& value() const { return *policy_; }

 private:
  friend class PolicyBuilder;
  explicit PolicyHandle(std::shared_ptr<const Policy> policy) : policy_(std::move(policy)) {}
  std::shared_ptr<const Policy> policy_;
};

// A credential that the guest uses and never holds: its variable has a placeholder, which the gateway replaces in
// requests to these hosts.
struct Secret {
  enum class Place : std::uint8_t { kHeader, kQuery, kBasic };
  enum class Source : std::uint8_t { kFile, kEnv, kCommand };
  std::string name;                // the guest's variable
  std::vector<std::string> hosts;  // "api.example.org:443", each of them allowed by allow_net
  Place place = Place::kHeader;
  std::string field = {};  // the header's or the parameter's name; empty for kBasic
  Source source = Source::kFile;
  std::string from = {};  // a path, a variable of your program, or a command for sh
};

// Starts from a preset ("untrusted", "adapter", "dev") or from TOML. Keeps its first error; build() returns it, and
// rejects contradictions.
class PolicyBuilder {
 public:
  explicit PolicyBuilder(std::string_view preset);
  static PolicyBuilder from_toml(std::string_view text, std::string_view name = "policy");
  ~PolicyBuilder();
  PolicyBuilder(PolicyBuilder&&) noexcept;
  PolicyBuilder& operator=(PolicyBuilder&&) noexcept;

  PolicyBuilder& limit(std::string_view name, std::string_view value);  // limit("memory", "256M") is limits.memory
  PolicyBuilder& set(std::string_view key, std::string_view value);     // any scalar key of the policy file
  PolicyBuilder& read(std::string path);                                // absolute; appears at the same path
  PolicyBuilder& write(std::string path);
  PolicyBuilder& exec(std::string path);
  // The guest changes this directory as it likes, and it stays as it is: what changed is kept with the run, for
  // `cloche diff` and `cloche apply`. Its run has a thread of its own.
  PolicyBuilder& workspace(std::string path);
  PolicyBuilder& env(std::string name, std::string value);
  PolicyBuilder& allow_net(std::string rule);  // "api.example.org:443", "*.example.org:443", "10.1.2.0/24:5432"
  PolicyBuilder& deny_net(std::string rule);   // wins
  PolicyBuilder& secret(Secret secret);
  // A unix socket of the host, or a pattern; with methods only these JSON-RPC calls, "log.*" for all that begin so.
  PolicyBuilder& socket(std::string path);
  PolicyBuilder& socket(std::string path, std::vector<std::string> methods);
  std::expected<PolicyHandle, std::string> build();

 private:
  struct State;
  PolicyBuilder();
  std::unique_ptr<State> state_;
};

// What happens on a guest's way out, as it happens. Texts may be of the guest's choosing.
struct NetworkEvent {
  // The last three: a grant that came, was taken back, or whose time was over.
  enum class Kind : std::uint8_t { kOpened, kClosed, kCall, kGranted, kRevoked, kEnded };
  Kind kind{};
  std::string via;      // "direct", "proxy", "socks", "dns", "socket"; of a grant "host", "socket", "secret"
  std::string name;     // the host's, or the socket's path; of a grant its rule, path or name
  std::string address;  // that was dialled, or that the guest wanted
  std::uint16_t port = 0;
  std::string method;   // of a call
  std::string verdict;  // "allowed", "denied", "failed"
  std::string reason;   // the rule that allowed it, or one sentence; of a grant who asked
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::chrono::milliseconds lasts{0};  // of a grant that came: for how long; 0: as long as the run
};

// Either a program (argv), or a script with its language; argv are then the script's arguments.
struct RunRequest {
  std::vector<std::string> argv = {};
  std::string script = {};
  std::string language = {};  // python, node, sh, bash, ruby, perl, lua
  std::string input = {};     // the guest's stdin
  bool cancellable = false;   // you hold the handle: no wall limit unless the policy names one
  std::function<void(std::string_view)> on_stdout = {};  // live, on the supervising thread; must not block
  std::function<void(std::string_view)> on_stderr = {};
  std::function<void(const NetworkEvent&)> on_network = {};  // the same; for policies with a way out
};

struct RunResult {
  std::string id;
  std::string outcome;  // "exited", "wall", "oom", "refused", ...: docs/report.md has them all
  std::string message;  // one sentence
  std::string hint;     // what to do about it; may be empty
  int exit_code = 125;  // as `cloche run` would end: the guest's own, 124, 125, 126, 130, 137
  std::string out;      // the last bytes of stdout and stderr
  std::string err;
  std::string report;  // the whole report as JSON

  bool ok() const { return outcome == "exited" && exit_code == 0; }
};

// What a live run may be granted, or lose again: a host by a rule whose port the policy has already, and a socket or a
// secret that it lists. Policies name what may come later with for = "0s".
struct LiveGrant {
  enum class Kind : std::uint8_t { kHost, kSocket, kSecret };
  Kind kind = Kind::kHost;
  std::string text;                    // the rule, the path or the name
  std::chrono::milliseconds lasts{0};  // 0: as long as the run
};

class RunHandle {
 public:
  const std::string& id() const;
  RunResult wait() const;  // any number of times, from any thread
  bool done() const;
  void cancel() const;  // TERM, grace, KILL; a second call kills at once
  // They wait until it is done; not from a callback of the run. What is taken back is closed where it is open. No grant
  // goes beyond the operator's ceiling. The error is one sentence.
  std::expected<void, std::string> grant(const LiveGrant& grant) const;
  std::expected<void, std::string> revoke(const LiveGrant& grant) const;

 private:
  friend class Runtime;
  struct State;
  std::shared_ptr<State> state_;
};

struct RuntimeOptions {
  std::string init_path = {};          // of cloche-init; empty: where it was installed
  std::size_t tail_bytes = 64 * 1024;  // kept per stream in the result
  std::string state_directory = {};    // where runs with a workspace are kept; empty: as the command line has it
  // A keeper of this runtime's own: a small process that prepares cells ahead, so that runs start in the time of a
  // process. Uses memory for the cells that wait (docs/performance.md).
  bool keeper = false;
  unsigned keeper_blank = 4;   // cells ready for any policy
  unsigned keeper_parked = 4;  // cells ready for each policy that was used twice
};

class Runtime {
 public:
  static std::expected<std::unique_ptr<Runtime>, std::string> create(const RuntimeOptions& options);
  // Kills what still runs and waits for it. Nothing outlives a Runtime.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  RunHandle start(const PolicyHandle& policy, RunRequest request);
  RunResult run(const PolicyHandle& policy, RunRequest request) { return start(policy, std::move(request)).wait(); }
  std::size_t active() const;

 private:
  struct State;
  Runtime();
  std::unique_ptr<State> state_;
};

}  // namespace cloche
