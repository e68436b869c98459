// The words of --allow-net, --deny-net, --secret and --socket: what is taken is part of a policy that can be printed
// and read again.
#include <cstddef>
#include <cstdint>
#include <string>

#include "cli/way_out_options.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche;
  using namespace cloche::cli;
  static constexpr OptionSpec kSpecs[] = {{"--allow-net", 0, "RULE", "", {}, Times::kMany},
                                          {"--deny-net", 0, "RULE", "", {}, Times::kMany},
                                          {"--secret", 0, "WORDS", "", {}, Times::kMany},
                                          {"--socket", 0, "PATH", "", {}, Times::kMany}};
  if (size == 0) return 0;
  WayOutArgs args;
  const Given given{&kSpecs[data[0] % 4], std::string(reinterpret_cast<const char*>(data + 1), size - 1)};
  if (!read_way_out(args, given)) return 0;
  const std::size_t taken =
      args.allow.size() + args.deny.size() + args.secrets.size() + args.sockets.size() + args.rules.size();
  if (taken == 0) __builtin_trap();  // accepted, and forgotten
  Policy policy;
  add_way_out(policy, args);
  return 0;
}
