#include "engine/script.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "base/fd.h"
#include "engine/program.h"
#include "policy/text.h"

namespace cloche {
namespace {

constexpr std::string_view kStep = "script";

enum class Flags : std::uint8_t { kNone, kPython, kNode };

struct Language {
  std::string_view name;
  std::array<std::string_view, 3> programs;  // tried in order
  std::string_view extension;                // of a script that came without a name
  std::string_view package;
  Flags flags;
};

constexpr std::array<Language, 7> kLanguages{{
    {"python", {"python3", "python"}, ".py", "python3", Flags::kPython},
    {"node", {"node", "nodejs"}, ".js", "nodejs", Flags::kNode},
    {"sh", {"sh"}, ".sh", "dash", Flags::kNone},
    {"bash", {"bash"}, ".bash", "bash", Flags::kNone},
    {"ruby", {"ruby"}, ".rb", "ruby", Flags::kNone},
    {"perl", {"perl"}, ".pl", "perl", Flags::kNone},
    {"lua", {"lua", "lua5.4", "lua5.3"}, ".lua", "lua5.4", Flags::kNone},
}};

struct Word {
  std::string_view word;
  std::string_view language;
};

constexpr std::array<Word, 9> kExtensions{{{".py", "python"},
                                           {".js", "node"},
                                           {".mjs", "node"},
                                           {".cjs", "node"},
                                           {".sh", "sh"},
                                           {".bash", "bash"},
                                           {".rb", "ruby"},
                                           {".pl", "perl"},
                                           {".lua", "lua"}}};

constexpr std::array<Word, 10> kNames{{{"python", "python"},
                                       {"python3", "python"},
                                       {"node", "node"},
                                       {"javascript", "node"},
                                       {"js", "node"},
                                       {"sh", "sh"},
                                       {"bash", "bash"},
                                       {"ruby", "ruby"},
                                       {"perl", "perl"},
                                       {"lua", "lua"}}};

const Language* language_called(std::span<const Word> words, std::string_view word) {
  for (const Word& w : words) {
    if (w.word != word) continue;
    for (const Language& language : kLanguages) {
      if (language.name == w.language) return &language;
    }
  }
  return nullptr;
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view extension_of(std::string_view path) {
  const std::string_view name = base_name(path);
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string_view() : name.substr(dot);
}

Result<const Language*> language_named(std::string_view name) {
  if (const Language* found = language_called(kNames, name)) return found;
  std::array<std::string_view, kNames.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kNames[i].word;
  return fail(ErrorCode::kInvalidInput, "--lang", fmt::format("there is no language {}", shown_text(name)),
              fmt::format("the nearest is \"{}\"; choose {}", nearest_word(name, names), join_quoted(names)));
}

// "python3.11" is python, "lua5.4" lua: the flags of a language go with each of its versions.
Flags flags_of_program(std::string_view program) {
  const std::string_view stem = program.substr(0, program.find_first_of("0123456789"));
  const Language* language = language_called(kNames, stem == "nodejs" ? "node" : stem);
  return language == nullptr ? Flags::kNone : language->flags;
}

std::vector<std::string> flag_list(Flags flags, Bytes memory) {
  switch (flags) {
    case Flags::kNone:
      return {};
    case Flags::kPython:
      // Compiled modules beside the sources would only use up the cell's disk: nothing of it lives until the next run.
      return {"-B"};
    case Flags::kNode: {
      // V8 sizes its heap by the machine, not by the cell, and would be killed before it ever collected. A quarter is
      // left for what is not heap: stacks, code, buffers.
      const std::uint64_t heap = std::max<std::uint64_t>(memory.count / 4 * 3 >> 20, 16);
      return {fmt::format("--max-old-space-size={}", heap), "--enable-source-maps"};
    }
  }
  return {};
}

Result<std::string> find_interpreter(std::span<const std::string_view> programs, std::string_view package,
                                     const ScriptContext& context) {
  std::string outside;
  for (const std::string_view program : programs) {
    if (program.empty()) continue;
    std::vector<std::string> places = context.directories;
    places.insert(places.end(), context.exec_grants.begin(), context.exec_grants.end());
    for (const std::string& place : places) {
      std::string path = place + "/" + std::string(program);
      const auto real = real_executable(path);
      if (!real) continue;
      if (visible_in_cell(*real, context.system, context.exec_grants)) return path;
      if (outside.empty()) outside = *real;
    }
  }
  if (!outside.empty()) {
    return fail(
        ErrorCode::kNotFound, std::string(kStep),
        fmt::format("{} is {} on this host, which the cell does not see", programs.front(), shown_text(outside)),
        fmt::format("install it with: apt install {}; or grant its directory with --exec", package));
  }
  return fail(ErrorCode::kNotFound, std::string(kStep),
              fmt::format("{} is not installed below {}", programs.front(), context.system),
              fmt::format("install it with: apt install {}", package));
}

Result<std::string> read_script(const std::string& path) {
  // Without O_NONBLOCK a named pipe would hold us until somebody writes to it.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid()) {
    const int error = errno;
    Error e{error == ENOENT || error == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kInvalidInput,
            std::string(kStep),
            error,
            fmt::format("{} cannot be read", shown_text(path)),
            {}};
    e.hint = error == ENOENT || error == ENOTDIR ? "check the path; a command is given after --: cloche run -- COMMAND"
                                                 : "check its permissions";
    return std::unexpected(std::move(e));
  }
  struct stat info{};
  if (::fstat(file.get(), &info) != 0)
    return fail_errno(errno, std::string(kStep), shown_text(path) + " cannot be inspected");
  if (S_ISDIR(info.st_mode)) {
    return fail(ErrorCode::kInvalidInput, std::string(kStep), fmt::format("{} is a directory", shown_text(path)),
                "name a script in it");
  }
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorCode::kInvalidInput, std::string(kStep), fmt::format("{} is not a regular file", shown_text(path)),
                "give the script on standard input: cloche run --lang NAME -");
  }
  char magic[4] = {};
  if (::pread(file.get(), magic, sizeof magic, 0) == sizeof magic && std::string_view(magic, 4) ==
                                                                         "\x7f"
                                                                         "ELF") {
    return fail(ErrorCode::kInvalidInput, std::string(kStep),
                fmt::format("{} is a program, not a script", shown_text(path)),
                "run it with: cloche run --exec DIR -- /absolute/path, where DIR is its directory");
  }
  const auto too_large = [&path] {
    return fail(ErrorCode::kInvalidInput, std::string(kStep),
                fmt::format("{} is larger than {}", shown_text(path), to_text(kMaxScript)),
                "grant its directory with --read and name it after --");
  };
  if (static_cast<std::uint64_t>(info.st_size) > kMaxScript.count) return too_large();
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t have = 0;
  for (;;) {
    if (have == text.size()) text.resize(have + 4096);  // it may have grown
    const ssize_t n = ::read(file.get(), text.data() + have, text.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, std::string(kStep), shown_text(path) + " cannot be read");
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
    if (have > kMaxScript.count) return too_large();
  }
  text.resize(have);
  return text;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
  return words;
}

// The program and its arguments that a "#!" line names; env(1) in front of it is looked through.
std::vector<std::string> hash_bang(std::string_view text) {
  if (!text.starts_with("#!")) return {};
  std::vector<std::string> words = words_of(text.substr(2, std::min(text.find('\n'), std::size_t{4096}) - 2));
  if (words.empty()) return {};
  if (base_name(words.front()) == "env") {
    words.erase(words.begin());
    if (!words.empty() && (words.front() == "-S" || words.front() == "--split-string")) words.erase(words.begin());
  }
  return words;
}

Result<Script> with_language(Script script, const Language& language, const ScriptContext& context) {
  CLOCHE_TRY_ASSIGN(script.interpreter, find_interpreter(language.programs, language.package, context));
  script.interpreter_args = flag_list(language.flags, context.memory);
  return script;
}

Result<Script> with_hash_bang(Script script, const std::string& path, const ScriptContext& context) {
  std::vector<std::string> words = hash_bang(script.text);
  if (words.empty() || words.front().starts_with('-') || base_name(words.front()).empty()) {
    return fail(ErrorCode::kInvalidInput, std::string(kStep),
                fmt::format("the language of {} is not known: it has no known extension and no usable \"#!\" line",
                            shown_text(path)),
                "name it with --lang, or give a command after --");
  }
  const std::string program(base_name(words.front()));
  const std::array<std::string_view, 1> programs{program};
  const Language* known = language_called(kNames, program);
  CLOCHE_TRY_ASSIGN(script.interpreter,
                    find_interpreter(programs, known != nullptr ? known->package : std::string_view(program), context));
  script.interpreter_args = flag_list(flags_of_program(program), context.memory);
  script.interpreter_args.insert(script.interpreter_args.end(), words.begin() + 1, words.end());
  return script;
}

}  // namespace

Status check_language(std::string_view name) {
  CLOCHE_TRY(language_named(name));
  return {};
}

std::string safe_script_name(std::string_view path) {
  std::string name;
  for (const char c : base_name(path)) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    name += plain ? c : '_';
  }
  if (name.size() > 200) name = name.substr(name.size() - 200);  // the end has the extension
  if (name.empty() || name.front() == '-' || name.front() == '.') name.insert(name.begin(), '_');
  return name;
}

Result<Script> script_from_file(const std::string& path, std::string_view language, const ScriptContext& context) {
  if (path.find('\0') != std::string::npos) {
    return fail(ErrorCode::kInvalidInput, std::string(kStep), fmt::format("{} has a NUL in it", shown_text(path)),
                "rename the file");
  }
  Script script;
  script.name = safe_script_name(path);
  CLOCHE_TRY_ASSIGN(script.text, read_script(path));
  if (!language.empty()) {
    CLOCHE_TRY_ASSIGN(const Language* named, language_named(language));
    return with_language(std::move(script), *named, context);
  }
  const std::string_view extension = extension_of(path);
  if (extension == ".ts" || extension == ".tsx" || extension == ".mts" || extension == ".cts") {
    return fail(ErrorCode::kInvalidInput, std::string(kStep),
                fmt::format("{} is TypeScript, which no interpreter here runs as it is", shown_text(path)),
                "compile it to JavaScript first, for example with tsc or esbuild");
  }
  if (const Language* known = language_called(kExtensions, extension)) {
    return with_language(std::move(script), *known, context);
  }
  return with_hash_bang(std::move(script), path, context);
}

Result<Script> script_from_text(std::string text, std::string_view language, const ScriptContext& context) {
  CLOCHE_TRY_ASSIGN(const Language* named, language_named(language));
  if (text.size() > kMaxScript.count) {
    return fail(ErrorCode::kInvalidInput, std::string(kStep),
                fmt::format("the script on standard input is larger than {}", to_text(kMaxScript)),
                "put it in a file, grant its directory with --read and name it after --");
  }
  Script script;
  script.name = "script" + std::string(named->extension);
  script.text = std::move(text);
  return with_language(std::move(script), *named, context);
}

}  // namespace cloche
