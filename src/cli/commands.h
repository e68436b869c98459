// The commands of the program, in one table that drives dispatch, help and hints.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/options.h"

namespace cloche::cli {

using Words = std::span<char* const>;

struct Section {
  std::string_view title;
  Table options;
};

struct Command {
  std::string_view name;
  std::string_view summary;                  // one line
  std::span<const std::string_view> usages;  // without the program's name
  std::string_view text;                     // paragraphs
  std::span<const Section> sections;
  std::span<const std::string_view> examples;
  int (*run)(Words words);
};

std::span<const Command> commands();
std::string command_help(const Command& command);

// Everything behind `cloche --version`. words: without the program's name.
int dispatch(Words words);

// A command line that is wrong: the sentence, and where the help is.
int usage_error(const Error& error, std::string_view command);
// Prints the help of a command.
int show_help(std::string_view command);

int run_command(Words words);
int plan_command(Words words);
int doctor_command(Words words);
int prove_command(Words words);
int policy_command(Words words);
int report_command(Words words);
int why_command(Words words);
int keeper_command(Words words);
int outputs_command(Words words);
int ps_command(Words words);
int gc_command(Words words);
int diff_command(Words words);
int apply_command(Words words);
int discard_command(Words words);
int artifacts_command(Words words);
int grant_command(Words words);
int revoke_command(Words words);
int learn_command(Words words);
int help_command(Words words);

extern const Table kDoctorOptions;
extern const Table kProveOptions;
extern const Table kPolicyCommandOptions;
extern const Table kReportCommandOptions;
extern const Table kWhyCommandOptions;
extern const Table kKeeperOptions;
extern const Table kOutputsOptions;
extern const Table kPsOptions;
extern const Table kGcOptions;
extern const Table kDiffOptions;
extern const Table kApplyOptions;
extern const Table kDiscardOptions;
extern const Table kArtifactsOptions;
extern const Table kGrantOptions;
extern const Table kRevokeOptions;
extern const Table kLearnOptions;

}  // namespace cloche::cli
