// The one table of policy keys. The TOML parser, the environment overrides, the flags, the ceiling, the printer, the
// JSON Schema and the test of docs/policy.md all read it, so that a key cannot exist in one of them only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cloche {

enum class Key : std::uint8_t {
  kVersion,
  kExtends,
  kTier,
  kBackend,
  kTrust,
  kObserve,
  kCwd,
  kDevelopment,
  kRootInCell,
  kWeaken,
  kSecrets,
  kLimitsMode,
  kLimitsWall,
  kLimitsGrace,
  kLimitsCpuTime,
  kLimitsCpus,
  kLimitsMemory,
  kLimitsPids,
  kLimitsFiles,
  kLimitsOutput,
  kLimitsDisk,
  kLimitsInodes,
  kFilesRead,
  kFilesWrite,
  kFilesExec,
  kFilesExecWritable,
  kWorkspacePath,
  kWorkspaceMode,
  kWorkspaceScratch,
  kWorkspaceKeep,
  kEnvPass,
  kEnvSet,
  kNetMode,
  kNetLoopback,
  kNetAllow,
  kNetDeny,
  kNetLimitsBytesIn,
  kNetLimitsBytesOut,
  kNetLimitsConnections,
  kNetLimitsRate,
  kSocketsAllow,
  kSocketsRules,
};

enum class KeyType : std::uint8_t {
  kVersion,       // the whole number 1
  kParent,        // a preset's name or a path ending in .toml
  kWord,          // one of a list of words
  kWordList,      // any of them, each at most once
  kFlag,          // true or false
  kPath,          // one absolute path inside the cell
  kPathList,      // absolute or ~/ paths of the host
  kPlaceList,     // the same, or relative to the caller's directory ("." or "./x"); one text stands for a list of one
  kCount,         // a whole number
  kShare,         // a decimal number; min and max are hundredths
  kBytes,         // text with a unit
  kDuration,      // text with a unit; min and max are milliseconds
  kEnvNames,      // names or PREFIX_*
  kEnvMap,        // names and values
  kNetRules,      // hosts and ports: proto/net_rule.h
  kNetGrants,     // the same; an item may be a table of host and for
  kSocketGrants,  // absolute or ~/ paths, "*" stands for a part of a name; an item may be a table of path and for
  kSecrets,       // tables: SecretGrant
  kSocketRules,   // tables: SocketRule
  kNetBounds,     // of a ceiling: rules, or "*:PORT" for every name
  kSources,       // of a ceiling: where the values of secrets may come from
};

// What an operator's ceiling may say about a key.
enum class CeilingRule : std::uint8_t {
  kNone,      // not a ceiling key
  kMost,      // the greatest value; words and flags rank in the order of the table
  kLeast,     // the smallest
  kAllowed,   // a list of the words that may be used
  kPrefixes,  // directories under which every grant must lie
  kPatterns,  // environment names and PREFIX_* that may be passed
  kNetRules,  // rules under which every rule must lie
  kSockets,   // directories or patterns under which every socket must lie
  kSources,   // where the values of secrets may come from
};

struct KeySpec {
  Key key;
  std::string_view name;  // "limits.pids"
  KeyType type;
  CeilingRule ceiling;
  std::uint64_t min;  // numbers only
  std::uint64_t max;
  std::span<const std::string_view> words;  // words only; the order of the enum in policy.h
  std::string_view example;                 // as TOML
  std::string_view description;
};

inline constexpr std::size_t kMaxListItems = 4096;
inline constexpr std::size_t kMaxPathBytes = 4095;  // PATH_MAX without its NUL
inline constexpr std::size_t kMaxEnvNameBytes = 255;
inline constexpr std::size_t kMaxEnvValueBytes = 65'536;  // the kernel refuses one string over 128 KiB with E2BIG

std::span<const KeySpec> key_table();
const KeySpec& spec_of(Key key);
const KeySpec* find_key(std::string_view name);            // nullptr: no such key
const KeySpec& nearest_key(std::string_view name);         // for "did you mean"; also finds "pids" for "limits.pids"
std::vector<std::string_view> section_names();             // each once
bool is_section(std::string_view name);                    // "limits": a table of keys, not a key
bool is_scalar(KeyType type);                              // can be given as one text: environment and flags
bool is_settable(const KeySpec& spec);                     // scalar, and not about the file itself
inline constexpr std::string_view kVariables = "CLOCHE_";  // what their names begin with
std::string environment_name(const KeySpec& spec);         // "CLOCHE_LIMITS_PIDS"
bool is_environment_name(std::string_view name, const KeySpec& spec);

}  // namespace cloche
