// Secrets on their way through a gateway. Laws, for any request and any answer, however they are cut:
// a value is in nothing but a request that was injected, and there only at its place and for its host; a body passes
// unchanged or is stopped, and never with a placeholder; an answer keeps its length and loses every value, or is
// stopped where searching it takes too much. Pauses, after which nothing is held back, change neither what is stopped
// nor that no value comes whole.
//
// The first byte says how the rest is cut and where it goes. "\1" to "\4" in the input stand for the placeholders and
// the values, which no fuzzer would guess; "\5" to "\7" for the values in spellings that the next byte chooses.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "gateway/scrub_response.h"
#include "gateway/secret_rules.h"
#include "gateway/secret_scan.h"
#include "proto/http_head.h"
#include "proto/http_target.h"

namespace {

using namespace cloche;
using namespace cloche::gateway;
using egress::SecretPlace;

constexpr std::string_view kValues[] = {"sk-Real+Value/01\"345", "aaaabaaaabaaaab", "aabaaaabaaaabaa"};
constexpr std::string_view kHolders[] = {"sk-Fake+Other/ab\"def", "ppppqppppqppppq", "ttttuttttuttttu"};

void require(bool law, int line = __builtin_LINE()) {
  if (law) return;
  std::fprintf(stderr, "the law of line %d is broken\n", line);
  std::abort();
}

SecretVault make_vault() {
  std::vector<egress::Secret> secrets(3);
  const SecretPlace places[] = {SecretPlace::kHeader, SecretPlace::kBasic, SecretPlace::kQuery};
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    secrets[i].name = "S" + std::to_string(i);
    secrets[i].value = kValues[i];
    secrets[i].placeholder = kHolders[i];
    secrets[i].hosts = {"api.example.org:443"};
    secrets[i].place = places[i];
    secrets[i].field = "key";
  }
  auto vault = SecretVault::take(secrets);
  require(vault.has_value());
  return std::move(*vault);
}

bool holds_a_value(std::string_view text) {
  for (const std::string_view value : kValues) {
    if (text.find(value) != std::string_view::npos) return true;
  }
  return false;
}

bool holds_a_placeholder(std::string_view text) {
  for (const std::string_view holder : kHolders) {
    if (text.find(holder) != std::string_view::npos) return true;
  }
  return false;
}

enum class Fill { kAsAsked, kAsAnswered };

// Each character in one of the usual ways.
std::string spelled(std::string_view text, unsigned char choice) {
  constexpr std::string_view kDigits = "0123456789aBcDeF";
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const std::string hex = {kDigits[code >> 4], kDigits[code & 15]};
    choice = static_cast<unsigned char>(choice * 5 + 3);
    switch (choice >> 5) {
      case 0:
        out += "%" + hex;
        break;
      case 1:
        out += "\\u00" + hex;
        break;
      case 2:
        out += "&#" + std::to_string(code) + ";";
        break;
      case 3:
        out += "&#x0" + hex + ";";
        break;
      case 4:
        out += c == '"' ? "&quot;" : c == '/' ? "\\/" : std::string(1, c);
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string filled(std::string_view text, Fill fill) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c >= 5 && c <= 7 && fill == Fill::kAsAnswered && at + 1 < text.size()) {
      out += spelled(kValues[c - 5], static_cast<unsigned char>(text[++at]));
      continue;
    }
    if (c >= 1 && c <= 3) {
      out += (fill == Fill::kAsAsked ? kHolders : kValues)[c - 1];
    } else if (c == 4) {
      out += to_base64("me:" + std::string((fill == Fill::kAsAsked ? kHolders : kValues)[1]));
    } else {
      out += c;
    }
  }
  return out;
}

// As if the sender paused after every piece.
template <typename Stream>
std::string passed_with_pauses(Stream& stream, std::string_view text, std::size_t piece) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    out += stream.feed(text.substr(at, piece));
    out += stream.let_go();
    require(!stream.holds());
  }
  return out;
}

template <typename Stream>
std::string passed(Stream& stream, std::string_view text, std::size_t piece) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece) out += stream.feed(text.substr(at, piece));
  return out + stream.finish();
}

void check_body(const SecretVault& vault, const std::string& body, std::size_t piece) {
  SecretScan scan(vault);
  const std::string out = passed(scan, body, piece);
  require(!holds_a_placeholder(out));
  require(scan.stopped() || out == body);
  require(scan.stopped() || !holds_a_placeholder(body));
  SecretScan whole(vault);
  (void)passed(whole, body, body.size() + 1);
  require(scan.stopped() == whole.stopped());
  require(!holds_a_value(scan.reason()));
  SecretScan paused(vault);
  const std::string pieces = passed_with_pauses(paused, body, piece);
  require(paused.stopped() == whole.stopped());
  require(body.starts_with(pieces) && !holds_a_placeholder(pieces));
  require(paused.stopped() || pieces == body);
}

void check_answer(const SecretVault& vault, const std::string& body, std::size_t piece) {
  ScrubStream stream(vault), whole(vault), paused(vault);
  const std::string out = passed(stream, body, piece);
  const std::string at_once = passed(whole, body, body.size() + 1);
  require(stream.stopped() || out.size() == body.size());
  require(whole.stopped() || at_once.size() == body.size());
  // A value in shorter lines than any encoder writes is found where they come together; nothing waits for them.
  require(out == at_once || stream.stopped() || whole.stopped() || body.find('\n') != std::string::npos);
  const std::string pieces = passed_with_pauses(paused, body, piece);
  require(paused.stopped() || pieces.size() == body.size());
  const auto has_at = [](std::string_view text, std::size_t at, std::string_view value) {
    return at < text.size() && text.substr(at, value.size()) == value;
  };
  for (const std::string_view value : kValues) {
    for (std::size_t at = body.find(value); at != std::string::npos; at = body.find(value, at + 1)) {
      require(!has_at(out, at, value));
      require(!has_at(pieces, at, value));
    }
  }
}

// Whatever stands around it.
void check_spellings(const SecretVault& vault, const std::string& body, std::size_t piece, unsigned char choice) {
  for (const std::string_view value : kValues) {
    const std::string echo = spelled(value, choice);
    ScrubStream stream(vault);
    const std::string out = passed(stream, body + echo + body, piece);
    if (stream.stopped()) continue;
    require(out.size() == 2 * body.size() + echo.size());
    require(out.substr(body.size(), echo.size()) != echo);
  }
}

void check_request(const SecretVault& vault, std::string_view text, std::string_view name) {
  proto::HttpRequestParser parser;
  if (parser.parse(text) != proto::HttpHeadState::kDone) return;
  const proto::HttpRequestHead before = parser.head();
  proto::HttpRequestHead head = before;
  const SecretVerdict verdict = SecretRules(vault).apply(head, *proto::parse_host_name(name), 443);
  // Whoever asks with the value in hand knows it already.
  require(!holds_a_value(verdict.reason) || holds_a_value(text));
  if (verdict.kind != SecretVerdict::Kind::kInjected) {
    require(head == before);
    require(verdict.kind == SecretVerdict::Kind::kStopped || !holds_a_placeholder(render(head)));
    return;
  }
  require(name == "api.example.org" && !verdict.names.empty());
  require(!holds_a_placeholder(render(head)) && proto::check_head(head).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const SecretVault vault = make_vault();
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = 1 + (data[0] & 0x1f);
  const std::string asked = filled(rest, Fill::kAsAsked);
  check_body(vault, asked, piece);
  const std::string answered = filled(rest, Fill::kAsAnswered);
  check_answer(vault, answered, piece);
  check_spellings(vault, answered, piece, data[size - 1]);
  check_request(vault, asked, (data[0] & 0x80) != 0 ? "evil.example" : "api.example.org");
  return 0;
}
