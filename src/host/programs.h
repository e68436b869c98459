// Finding our own helper programs without trusting $PATH or a file that somebody else could have changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cloche::host {

// Owned by root or by uid, and writable by nobody else: a group may only write if it is gid or root's.
bool is_trusted_program(const std::string& path, std::uint32_t uid, std::uint32_t gid);

std::optional<std::string> find_bwrap(const std::string& root);
std::vector<std::string> default_init_candidates(const std::string& root);
std::optional<std::string> find_init(const std::string& root, const std::vector<std::string>& candidates,
                                     std::uint32_t uid, std::uint32_t gid);

}  // namespace cloche::host
