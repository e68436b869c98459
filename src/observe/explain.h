// From what was seen to what was denied: which of the attempts the policy stopped, and which line of a policy would
// have let them through, or why none may. Pure but for the host's files, which are asked for through HostLook.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "observe/sighting.h"
#include "plan/plan.h"
#include "policy/secret_places.h"
#include "report/report.h"

namespace cloche::observe {

enum class Right : std::uint8_t { kRead, kWrite, kExecute };

// A path of the host as the engine's own user finds it.
struct HostPath {
  std::string real;  // without links
  bool directory = false;
  bool socket = false;
  bool allowed = false;              // the right that was asked for, to that user
  bool regular = false;              // a plain file
  std::vector<std::string> links{};  // directories without links that hold the links on the way to it
  // What keeps out, by its mode, whoever neither owns it nor is of its group: directories on the way, the thing itself.
  std::vector<std::string> closed{};
  std::string interpreter{};  // that the first line of a script names; only where kExecute was asked for
  bool datagrams = false;     // a socket to which they are sent, each by itself
};
// Asks for them, and knows what no line may open.
class HostLook {
 public:
  using Ask = std::function<std::optional<HostPath>(const std::string& path, Right right)>;
  using Kept = std::function<const Secrets&()>;

  HostLook() = default;
  template <typename F>
    requires std::is_invocable_r_v<std::optional<HostPath>, const F&, const std::string&, Right>
  HostLook(F ask) : ask_(std::move(ask)) {}  // NOLINT(google-explicit-constructor): a look is what it asks
  HostLook(Ask ask, Kept kept) : ask_(std::move(ask)), kept_(std::move(kept)) {}

  std::optional<HostPath> operator()(const std::string& path, Right right) const { return ask_(path, right); }
  // Found out when it is first asked for. Where nobody said, what the table knows of any host.
  const Secrets& secrets() const;

 private:
  Ask ask_;
  Kept kept_;
};

// The rights that a guest of the plan has to a path without links, in Landlock's words.
std::uint64_t rights_to(const Plan& plan, const std::string& path);

// The grant or the workspace that a path without links lies in, each of which is a mount of its own where a cell has a
// view of its own; empty for all else.
std::string mount_of(const Plan& plan, const std::string& path);

// What is there and may be done: nothing will be said of it.
bool is_granted(const Sighting& sighting, const Plan& plan);

// At most kMostDenials, files first; whatever is beyond them is one line that counts it.
inline constexpr std::size_t kMostDenials = 256;
std::vector<Denial> explain(const std::vector<Sighting>& seen, const Plan& plan, const HostLook& look);

// "cat" and "sh, cat" make "cat, sh": the first few, in the order in which they came.
void add_programs(std::string& list, std::string_view more);

// What the gateway refused, in the same words. It sees connections and no processes: one of those that `ran` asked.
std::vector<Denial> explain_network(const NetworkUse& use, const std::string& ran);

// The line that raises a limit of the plan, by the key's name: "limits.pids = 128".
std::string raised_limit(const Plan& plan, const std::string& key);

}  // namespace cloche::observe
