#include "cli/way_out_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/units.h"
#include "policy/key_value.h"
#include "policy/way_out.h"

namespace cloche::cli {
namespace {

constexpr const char* kSecretHint =
    "write --secret name=TOKEN,host=api.example.org:443,header=Authorization,env=REAL_TOKEN";

std::unexpected<Error> wrong(const Given& given, std::string message, std::string hint) {
  return fail(ErrorCode::kInvalidInput, std::string(given.spec->name), std::move(message), std::move(hint));
}

Status at_flag(const Given& given, Status status) {
  if (status) return {};
  return located(given.spec->name, std::move(status.error()));
}

Result<Lasts> read_lasts(const Given& given, std::string_view text) {
  const auto duration = parse_duration(text);
  if (!duration) return wrong(given, "for: " + duration.error().message, "write for=10m");
  return Lasts{*duration};
}

Status read_allow(WayOutArgs& args, const Given& given) {
  NetGrant grant{given.value, {}};
  if (const std::size_t at = given.value.find(",for="); at != std::string::npos) {
    CLOCHE_TRY_ASSIGN(grant.lasts, read_lasts(given, std::string_view(given.value).substr(at + 5)));
    grant.rule.resize(at);
  }
  CLOCHE_TRY(at_flag(given, check_grants(spec_of(Key::kNetAllow), {{grant.rule, grant.lasts}})));
  args.allow.push_back(std::move(grant));
  return {};
}

// One "key=text" of a secret; which of a place and a source is given twice shows here.
class SecretWords {
 public:
  explicit SecretWords(const Given& given) : given_(given) {}

  Status take(std::string_view key, std::string_view text) {
    using Place = SecretGrant::Place;
    using Source = SecretGrant::Source;
    if (key == "name") return once(out_.name, key, text);
    if (key == "host") return out_.hosts.emplace_back(text), Status{};
    if (key == "header") return place(Place::kHeader, text);
    if (key == "query") return place(Place::kQuery, text);
    if (key == "basic") return place(Place::kBasic, text);
    if (key == "file") return source(Source::kFile, text);
    if (key == "env") return source(Source::kEnv, text);
    if (key == "command") return source(Source::kCommand, text);
    if (key != "for") return wrong(given_, fmt::format("{} is not a word of a secret", shown_text(key)), kSecretHint);
    CLOCHE_TRY_ASSIGN(out_.lasts, read_lasts(given_, text));
    return {};
  }

  Result<SecretGrant> done() {
    if (out_.name.empty()) return wrong(given_, "the secret has no name", kSecretHint);
    if (!place_) return wrong(given_, "nothing says where the secret goes", kSecretHint);
    if (!source_) return wrong(given_, "nothing says where the value comes from", kSecretHint);
    out_.place = *place_;
    out_.source = *source_;
    if (out_.source == SecretGrant::Source::kFile && !out_.from.starts_with('~')) {
      std::error_code error;
      out_.from = std::filesystem::absolute(out_.from, error).lexically_normal().string();
    }
    CLOCHE_TRY(at_flag(given_, check_secrets(spec_of(Key::kSecrets), {out_})));
    return std::move(out_);
  }

 private:
  Status once(std::string& field, std::string_view key, std::string_view text) {
    if (!field.empty()) return wrong(given_, fmt::format("{} is there twice", key), kSecretHint);
    field = text;
    return {};
  }
  Status place(SecretGrant::Place where, std::string_view text) {
    if (place_) return wrong(given_, "two words say where the secret goes", "keep one of header, query and basic");
    place_ = where;
    out_.field = text;
    return {};
  }
  Status source(SecretGrant::Source from, std::string_view text) {
    if (source_) return wrong(given_, "two words say where the value comes from", "keep one of file, env and command");
    source_ = from;
    out_.from = text;
    return {};
  }

  const Given& given_;
  SecretGrant out_;
  std::optional<SecretGrant::Place> place_;
  std::optional<SecretGrant::Source> source_;
};

Status read_secret(WayOutArgs& args, const Given& given) {
  SecretWords words(given);
  std::string_view rest = given.value;
  while (!rest.empty()) {
    const std::size_t end = rest.starts_with("command=") ? rest.size() : std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, end);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos && word != "basic") {
      // Not shown: whoever writes a value here by mistake does not want it in a log.
      return wrong(given, "a word of it has no =", kSecretHint);
    }
    CLOCHE_TRY(words.take(word.substr(0, equals),
                          equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  CLOCHE_TRY_ASSIGN(SecretGrant secret, words.done());
  args.secrets.push_back(std::move(secret));
  return {};
}

Status read_socket(WayOutArgs& args, const Given& given) {
  const std::size_t equals = given.value.rfind('=');
  std::string path = given.value.substr(0, equals);
  if (path.empty())
    return wrong(given, "the path is empty", "write --socket /run/x.sock, or --socket /run/x.sock=log.*");
  if (!path.starts_with('~')) {
    std::error_code error;
    path = std::filesystem::absolute(path, error).lexically_normal().string();
  }
  CLOCHE_TRY(at_flag(given, check_grants(spec_of(Key::kSocketsAllow), {{path, {}}})));
  if (equals != std::string::npos) {
    SocketRule rule{path, {}, {}};
    std::string_view rest = std::string_view(given.value).substr(equals + 1);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      rule.methods.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    CLOCHE_TRY(at_flag(given, check_socket_rules(spec_of(Key::kSocketsRules), {rule})));
    args.rules.push_back(std::move(rule));
  }
  args.sockets.push_back({std::move(path), {}});
  return {};
}

}  // namespace

Status read_way_out(WayOutArgs& args, const Given& given) {
  const std::string_view name = given.spec->name;
  if (name == "--allow-net") return read_allow(args, given);
  if (name == "--secret") return read_secret(args, given);
  if (name == "--socket") return read_socket(args, given);
  if (name != "--deny-net") return {};
  CLOCHE_TRY(at_flag(given, check_net_rule(spec_of(Key::kNetDeny), given.value)));
  args.deny.push_back(given.value);
  return {};
}

void add_way_out(Policy& policy, const WayOutArgs& args) {
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  append(policy.net_allow, args.allow);
  append(policy.net_deny, args.deny);
  append(policy.secrets, args.secrets);
  append(policy.sockets, args.sockets);
  append(policy.socket_rules, args.rules);
}

}  // namespace cloche::cli
