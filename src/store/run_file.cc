#include "store/run_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/json_writer.h"
#include "store/files.h"
#include "store/lock.h"

namespace cloche::store {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostWords = 64;
constexpr std::size_t kMostBytes = 4096;
constexpr std::size_t kMostKeeps = 16;
// The year 9999: what is later cannot be shown, and adds up without overflow.
constexpr std::int64_t kLastMoment = 253'402'300'799'999;
constexpr const char* kStep = "run.json";

std::unexpected<Error> wrong(const char* key) {
  return fail(ErrorCode::kInvalidInput, kStep, std::string(key) + " is missing or not what it should be");
}

Result<std::int64_t> number(const Json& at, const char* key, std::int64_t least, std::int64_t most) {
  const auto found = at.find(key);
  if (found == at.end() || !found->is_number_integer()) return wrong(key);
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > static_cast<std::uint64_t>(most)) return wrong(key);
  const auto value = found->get<std::int64_t>();
  if (value < least || value > most) return wrong(key);
  return value;
}

Result<std::string> text(const Json& at, const char* key) {
  const auto found = at.find(key);
  if (found == at.end() || !found->is_string()) return wrong(key);
  return found->get<std::string>();
}

Result<std::vector<std::string>> texts(const Json& at, const char* key, std::size_t most) {
  const auto found = at.find(key);
  if (found == at.end() || !found->is_array() || found->size() > most) return wrong(key);
  std::vector<std::string> out;
  for (const Json& one : *found) {
    if (!one.is_string()) return wrong(key);
    out.push_back(one.get<std::string>());
  }
  return out;
}

}  // namespace

Moment moment_now() { return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()); }

std::vector<std::string> bounded(const std::vector<std::string>& argv) {
  std::vector<std::string> out;
  std::size_t left = kMostBytes;
  for (const std::string& word : argv) {
    if (out.size() == kMostWords || left == 0) {
      out.emplace_back("…");
      break;
    }
    std::size_t size = std::min(word.size(), left);
    left -= size;
    if (size == word.size()) {
      out.push_back(word);
      continue;
    }
    // Not in the middle of a character.
    while (size > 0 && (static_cast<unsigned char>(word[size]) & 0xc0) == 0x80) --size;
    out.push_back(word.substr(0, size) + "…");
  }
  return out;
}

std::string encode(const RunFile& file) {
  JsonWriter json;
  json.begin_object();
  json.member("version", kRunFileVersion);
  json.member("id", file.id);
  json.member("state", file.end ? "done" : "running");
  json.member("pid", file.pid);
  json.member("started_ms", file.started.time_since_epoch().count());
  json.strings("argv", file.facts.argv);
  json.member("policy", file.facts.policy);
  json.member("tier", file.facts.tier);
  json.strings("keeps", file.end && file.end->keeps ? *file.end->keeps : file.facts.keeps);
  if (file.end) {
    json.member("ended_ms", file.ended.time_since_epoch().count());
    json.member("outcome", file.end->outcome);
    json.member("exit_code", file.end->exit_code);
  }
  json.end_object();
  return json.take() + "\n";
}

Result<RunFile> decode(std::string_view from) {
  const Json json = Json::parse(from, nullptr, false);
  if (!json.is_object()) return fail(ErrorCode::kInvalidInput, kStep, "it is not a JSON object");
  if (auto version = number(json, "version", kRunFileVersion, kRunFileVersion); !version) return wrong("version");
  RunFile out;
  CLOCHE_TRY_ASSIGN(out.id, text(json, "id"));
  CLOCHE_TRY_ASSIGN(const std::int64_t pid, number(json, "pid", 0, INT32_MAX));
  out.pid = static_cast<pid_t>(pid);
  CLOCHE_TRY_ASSIGN(const std::int64_t started, number(json, "started_ms", 0, kLastMoment));
  out.started = Moment(std::chrono::milliseconds(started));
  CLOCHE_TRY_ASSIGN(out.facts.argv, texts(json, "argv", kMostWords + 1));
  CLOCHE_TRY_ASSIGN(out.facts.policy, text(json, "policy"));
  CLOCHE_TRY_ASSIGN(out.facts.tier, text(json, "tier"));
  CLOCHE_TRY_ASSIGN(out.facts.keeps, texts(json, "keeps", kMostKeeps));
  CLOCHE_TRY_ASSIGN(const std::string state, text(json, "state"));
  if (state == "running") return out;
  if (state != "done") return wrong("state");
  CLOCHE_TRY_ASSIGN(const std::int64_t ended, number(json, "ended_ms", 0, kLastMoment));
  out.ended = Moment(std::chrono::milliseconds(ended));
  RunEnd end;
  CLOCHE_TRY_ASSIGN(end.outcome, text(json, "outcome"));
  CLOCHE_TRY_ASSIGN(const std::int64_t code, number(json, "exit_code", 0, 255));
  end.exit_code = static_cast<int>(code);
  out.end = std::move(end);
  return out;
}

Result<RunFile> read_run_file(int directory) {
  auto text = read_in(directory, kRunFile, kRunFileLimit);
  if (!text && text.error().code == ErrorCode::kNotFound) text = read_in(directory, kLockFile, kRunFileLimit);
  if (!text) return std::unexpected(text.error());
  return decode(*text);
}

}  // namespace cloche::store
