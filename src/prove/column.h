// Column: what attacks are tried against. A tier and backend of ours, the user's own policy, or another command.
#pragma once

#include <string>
#include <vector>

#include "plan/doctor.h"
#include "prove/attack.h"
#include "prove/granted.h"

namespace cloche::prove {

enum class Kind : std::uint8_t { kProcess, kNative, kBwrap, kPolicy, kAgainst };

struct Column {
  Kind kind = Kind::kNative;
  std::string id{};     // "process", "native", "bwrap", "policy", "against"
  std::string title{};  // "tier 1, native"
  bool operator==(const Column&) const = default;
};

enum class User : std::uint8_t { kRoot, kOrdinary };
enum class Cgroups : std::uint8_t { kUsable, kMissing };

struct Caller {
  User user = User::kOrdinary;
  Cgroups cgroups = Cgroups::kUsable;
};

struct Skipped {
  Column column;
  std::string why;
  bool operator==(const Skipped&) const = default;
};

struct Columns {
  std::vector<Column> usable;
  std::vector<Skipped> unusable;  // here, as doctor says
};
// Of the tiers and backends of this version; empty names mean all.
Result<Columns> columns_for(const DoctorReport& doctor, const std::string& tier, const std::string& backend);

// Whose walls stand there: with the user's own policy those that its plan runs on.
Kind walls_of(Kind kind, const Granted& granted);
std::string title_of(Kind walls);  // "tier 1, native"; of ours

// Why a column does not promise what the attack is about; empty: it does.
std::string not_promised(const Attack& attack, Kind kind, const Granted& granted, const Caller& caller);
// Why the attack does not exist there; empty: it does. What only fails to be laid out is no reason.
// `granted` is what the user's own policy grants.
std::string left_out(const Attack& attack, Kind kind, const Granted& granted);

Words args_on(const Attack& attack, Kind kind, const Granted& granted);

// What it tries, for people: another command is told of no limit.
std::string tries_on(const Attack& attack, Kind kind);

// Of the attack's options those that only narrow a policy or connect the guest: a user's own policy gets no more.
// Nothing: the attack needs a grant.
std::optional<Words> narrowing_options(const Words& options);

}  // namespace cloche::prove
