#include "engine/script.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "engine/program.h"
#include "sys/file.h"

namespace cloche {
namespace {

// A system of its own: interpreters in FOLDER/usr/bin, other things beside it.
class ScriptTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cloche-script-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    char real[4096];
    ASSERT_NE(::realpath(name, real), nullptr);
    folder_ = real;
    ::mkdir((folder_ + "/usr").c_str(), 0755);
    ::mkdir((folder_ + "/usr/bin").c_str(), 0755);
    ::mkdir((folder_ + "/opt").c_str(), 0755);
    for (const char* program : {"python3", "node", "sh", "ruby3.1"}) install(std::string("usr/bin/") + program);
    context_.directories = {folder_ + "/usr/bin"};
    context_.system = folder_ + "/usr";
    context_.memory = mebibytes(512);
  }
  void TearDown() override { (void)sys::remove_tree(folder_); }

  std::string put(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  void install(const std::string& name) { ::chmod(put(name, "x").c_str(), 0755); }
  Result<Script> load(const std::string& name, const std::string& text, std::string_view language = {}) {
    return script_from_file(put(name, text), language, context_);
  }

  std::string folder_;
  ScriptContext context_;
};

TEST_F(ScriptTest, ExtensionChoosesTheInterpreter) {
  const auto script = load("a.py", "print(1)");
  ASSERT_TRUE(script) << script.error().text();
  EXPECT_EQ(script->interpreter, folder_ + "/usr/bin/python3");
  EXPECT_EQ(script->name, "a.py");
  EXPECT_EQ(script->text, "print(1)");
}

TEST_F(ScriptTest, LanguageWinsOverExtension) {
  EXPECT_EQ(load("a.js", "", "python")->interpreter, folder_ + "/usr/bin/python3");
  EXPECT_EQ(load("b", "", "javascript")->interpreter, folder_ + "/usr/bin/node");
}

TEST_F(ScriptTest, K10_NodeHeapFollowsTheMemoryLimit) {
  EXPECT_EQ(load("a.mjs", "")->interpreter_args.front(), "--max-old-space-size=384");
  context_.memory = mebibytes(4);
  EXPECT_EQ(load("b.js", "")->interpreter_args.front(), "--max-old-space-size=16");
  EXPECT_EQ(load("b.js", "")->interpreter_args.back(), "--enable-source-maps");
}

TEST_F(ScriptTest, HashBangIsLookedUpInTheSystemOnly) {
  EXPECT_EQ(load("tool", "#!/usr/bin/env python3\n")->interpreter, folder_ + "/usr/bin/python3");
  EXPECT_EQ(load("tool", "#!/home/me/bin/ruby3.1 -w\n")->interpreter, folder_ + "/usr/bin/ruby3.1");
  EXPECT_EQ(load("tool", "#!/home/me/bin/ruby3.1 -w\n")->interpreter_args, std::vector<std::string>{"-w"});
  EXPECT_FALSE(load("tool", "#!"));
  EXPECT_FALSE(load("tool", "#!/usr/bin/env -i\n"));
  EXPECT_FALSE(load("tool", "#!/bin/nope\n"));
  EXPECT_FALSE(load("tool", "no line"));
}

TEST_F(ScriptTest, InterpreterMustLieBelowTheSystemOrAGrant) {
  install("opt/lua");
  ASSERT_EQ(::symlink((folder_ + "/opt/lua").c_str(), (folder_ + "/usr/bin/lua").c_str()), 0);
  const auto refused = load("a.lua", "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  EXPECT_NE(refused.error().hint.find("--exec"), std::string::npos);
  context_.exec_grants = {folder_ + "/opt"};
  EXPECT_TRUE(load("a.lua", ""));
}

TEST_F(ScriptTest, MissingInterpreterNamesItsPackage) {
  const auto missing = load("a.pl", "");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().hint, "install it with: apt install perl");
}

TEST_F(ScriptTest, RefusesWhatIsNoScript) {
  EXPECT_NE(load("prog", std::string("\x7f") + "ELF...").error().hint.find("--exec"), std::string::npos);
  EXPECT_NE(load("a.ts", "").error().hint.find("JavaScript"), std::string::npos);
  EXPECT_FALSE(script_from_file(folder_, {}, context_));
  EXPECT_FALSE(script_from_file(folder_ + "/none.py", {}, context_));
  EXPECT_FALSE(script_from_file(std::string("/a\0b.py", 7), {}, context_));
  ASSERT_EQ(::mkfifo((folder_ + "/pipe.py").c_str(), 0600), 0);
  EXPECT_FALSE(script_from_file(folder_ + "/pipe.py", {}, context_));
  EXPECT_FALSE(script_from_text("", "cobol", context_));
  ASSERT_EQ(::truncate(put("big.py", "").c_str(), static_cast<off_t>(kMaxScript.count + 1)), 0);
  EXPECT_FALSE(script_from_file(folder_ + "/big.py", {}, context_));
}

TEST_F(ScriptTest, C6_NameCannotBecomeAnOptionOrAPath) {
  EXPECT_EQ(safe_script_name("/x/-c.py"), "_-c.py");
  EXPECT_EQ(safe_script_name("..py"), "_..py");
  EXPECT_EQ(safe_script_name("a b\n;$.py"), "a_b___.py");
  EXPECT_EQ(safe_script_name("/"), "_");
}

TEST_F(ScriptTest, ProgramIsFoundWhereTheCellSeesIt) {
  install("opt/tool");
  ProgramContext context{{}, folder_, {folder_ + "/usr/bin"}, folder_ + "/usr"};
  EXPECT_EQ(*resolve_program("/any/path", context), "/any/path");
  EXPECT_EQ(*resolve_program("sh", context), folder_ + "/usr/bin/sh");
  EXPECT_EQ(*resolve_program("./usr/bin/sh", context), folder_ + "/usr/bin/sh");
  EXPECT_EQ(resolve_program("tool", context).error().code, ErrorCode::kNotFound);
  EXPECT_NE(resolve_program("opt/tool", context).error().hint.find("--exec " + folder_ + "/opt"), std::string::npos);
  EXPECT_FALSE(resolve_program("", context));
  EXPECT_FALSE(resolve_program("./none", context));
  context.exec_grants = {folder_ + "/opt"};
  EXPECT_EQ(*resolve_program("tool", context), folder_ + "/opt/tool");
  EXPECT_EQ(*resolve_program("opt/tool", context), folder_ + "/opt/tool");
  context.exec_grants = {folder_ + "/op"};
  EXPECT_FALSE(resolve_program("opt/tool", context)) << "a grant covers names below it, not names that begin like it";
}

}  // namespace
}  // namespace cloche
