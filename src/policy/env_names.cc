#include "policy/env_names.h"

#include <algorithm>
#include <array>

namespace cloche {
namespace {

// Prefixes stand for whole families whose members grow with each release of the tool that reads them.
constexpr auto kPrefixes = std::to_array<std::string_view>({
    "LD_",    "DYLD_",   "GLIBC_",   "MALLOC_",  "LSAN_",    "ASAN_",                       // loader and allocator
    "PYTHON", "PERL5",   "PERL_",    "RUBY",     "LUA_",     "BUNDLE_",                     // interpreters
    "BASH_",  "GIT_",    "DOTNET_",  "CORECLR_", "COMPlus_", "NPM_CONFIG_", "npm_config_",  // shells and tools
    "DBUS_",  "RESOLV_", "TERMINFO", "GCONV_",  // channels and data files of libc
});

constexpr auto kNames = std::to_array<std::string_view>(
    {// interpreters
     "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "PERLLIB", "PERLDB_OPTS", "JAVA_TOOL_OPTIONS",
     "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "PHPRC", "PHP_INI_SCAN_DIR", "R_PROFILE", "R_PROFILE_USER",
     "R_ENVIRON", "R_ENVIRON_USER", "DENO_DIR", "BUN_OPTIONS", "GEM_HOME", "GEM_PATH", "LUAROCKS_CONFIG",
     // shells
     "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "CDPATH", "GLOBIGNORE", "ZDOTDIR", "FPATH",
     // libc: files it loads code, names or catalogues from
     "LOCPATH", "NLSPATH", "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "GETCONF_DIR", "TZDIR",
     // libraries and pagers that run or load what the variable names
     "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "SSLKEYLOGFILE", "LESSOPEN", "LESSCLOSE",
     // ways out to the user's session
     "SSH_AUTH_SOCK", "SSH_ASKPASS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"});

}  // namespace

bool is_dangerous_env(std::string_view name) {
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

bool matches_env_pattern(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

std::map<std::string, std::string> select_env(const EnvGrants& grants,
                                              const std::map<std::string, std::string>& host_env) {
  std::map<std::string, std::string> out = grants.set;
  for (const std::string& pattern : grants.pass) {
    if (!pattern.ends_with('*')) {
      const auto found = host_env.find(pattern);
      if (found != host_env.end() && !is_dangerous_env(pattern)) out.insert(*found);
      continue;
    }
    const std::string prefix = pattern.substr(0, pattern.size() - 1);
    for (auto it = host_env.lower_bound(prefix); it != host_env.end() && it->first.starts_with(prefix); ++it) {
      if (!is_dangerous_env(it->first)) out.insert(*it);
    }
  }
  return out;
}

}  // namespace cloche
