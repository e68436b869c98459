#include "cli/plan_view.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>

#include "policy/way_out.h"
#include "report/paint.h"
#include "report/text.h"

namespace cloche::cli {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kMaxLines = 12;

struct NamespaceBit {
  std::uint64_t bit;
  std::string_view name;
};
constexpr std::array<NamespaceBit, 7> kNamespaces{{{CLONE_NEWUSER, "user"},
                                                   {CLONE_NEWNS, "mount"},
                                                   {CLONE_NEWPID, "pid"},
                                                   {CLONE_NEWNET, "net"},
                                                   {CLONE_NEWIPC, "ipc"},
                                                   {CLONE_NEWUTS, "uts"},
                                                   {CLONE_NEWCGROUP, "cgroup"}}};

class Page {
 public:
  explicit Page(Colour colour) : colour_(colour) {}

  void title(std::string_view text) { out_ += fmt::format("\n{}\n", paint(text, Hue::kGreen, colour_)); }
  // "head   text", wrapped under itself. Both are made printable here: a policy and a guest's words are in them.
  void row(std::string_view head, std::size_t width, std::string_view text) {
    std::string left = "  " + pad(printable(head), width) + "  ";
    for (const std::string& part : wrap(printable(text), kColumns - width - 4, kMaxLines)) {
      out_ += left + part + "\n";
      left = std::string(width + 4, ' ');
    }
  }
  void field(std::string_view name, std::string_view text) { row(name, 10, text.empty() ? "-" : text); }
  Colour colour() const { return colour_; }
  void raw(std::string_view text) { out_ += text; }
  std::string take() { return std::move(out_); }

 private:
  Colour colour_;
  std::string out_;
};

std::string limits_text(const Plan& plan) {
  const Limits& l = plan.limits;
  return fmt::format(
      "wall {}, grace {}, cpu time {}, cpus {:g}, memory {}, pids {}, files {}, output {}, disk {}, inodes {}, mode {}",
      plan.wall ? to_text(*plan.wall) : "none", to_text(l.grace), l.cpu_time ? to_text(*l.cpu_time) : "none", l.cpus,
      to_text(l.memory), l.pids, l.files, to_text(l.output), to_text(l.disk), l.inodes, to_string(l.mode));
}

std::string namespaces_text(std::uint64_t bits) {
  std::string out;
  for (const NamespaceBit& n : kNamespaces) {
    if ((bits & n.bit) != 0) out += (out.empty() ? "" : ", ") + std::string(n.name);
  }
  return out.empty() ? "none of its own" : out;
}

std::string network_text(const Plan& plan) {
  if (plan.net == NetMode::kHost) return "the host's";
  if (plan.gateway && plan.gateway->proxy_port != 0) {
    return fmt::format("through a gateway, proxy on port {}", plan.gateway->proxy_port);
  }
  return plan.loopback ? "its own loopback" : "none";
}

void head(Page& page, const Plan& plan) {
  page.raw(paint("plan", Hue::kGreen, page.colour()) + "\n");
  page.field("policy", plan.policy_name);
  page.field("tier", fmt::format("{} ({})", static_cast<unsigned>(plan.tier), to_string(plan.tier)));
  page.field("backend", to_string(plan.backend));
  page.raw(fmt::format("  {}  {}\n", pad("command", 10), fit(printable_command(plan.argv), 400)));
  page.field("program", plan.program);
  page.field("cwd", plan.cwd);
  page.field("network", network_text(plan));
  page.field("user", fmt::format("uid {} inside{}", plan.inside_uid,
                                 plan.own_host_uid ? ", a host uid of its own outside" : ", ours outside"));
  page.field("namespaces", plan.backend == Backend::kBwrap ? "made by bwrap" : namespaces_text(plan.namespaces));
  page.field("limits", limits_text(plan));
  for (const auto& [name, value] : plan.env) {
    page.field("env", name + "=" + (is_secret(plan, name) ? kPlaceholder : value));
  }
}

std::string for_text(const Lasts& lasts) {
  if (!lasts) return {};
  return lasts->count() == 0 ? ", when cloche grant gives it" : ", for " + to_text(*lasts);
}

void way_out(Page& page, const PlannedGateway& gateway) {
  page.title("way out, through a gateway");
  for (const NetGrant& grant : gateway.allow) page.row("allow", 10, grant.rule + for_text(grant.lasts));
  for (const std::string& rule : gateway.deny) page.row("deny", 10, rule);
  const NetLimits& l = gateway.limits;
  if (l.bytes_in) page.row("limit", 10, "bytes in: " + to_text(*l.bytes_in));
  if (l.bytes_out) page.row("limit", 10, "bytes out: " + to_text(*l.bytes_out));
  if (l.connections) page.row("limit", 10, fmt::format("connections: {}", *l.connections));
  if (l.rate) page.row("limit", 10, "bytes a second: " + to_text(*l.rate));
  for (const SecretGrant& secret : gateway.secrets) {
    page.row("secret", 10,
             fmt::format("{} for {} in {}{}, from {} {}{}", secret.name, fmt::join(secret.hosts, ", "),
                         place_key(secret.place), secret.field.empty() ? "" : " " + secret.field,
                         source_key(secret.source), secret.from, for_text(secret.lasts)));
  }
  for (const PlannedSocket& socket : gateway.sockets) {
    const std::string methods =
        socket.rule ? fmt::format(", methods {}", fmt::join(socket.rule->methods, ", ")) : ", bytes as they are";
    page.row("socket", 10, socket.path + methods + for_text(socket.lasts));
  }
}

void steps(Page& page, const Plan& plan) {
  page.title("steps, in order");
  std::size_t number = 0;
  for (const Step& step : plan.steps) {
    page.row(fmt::format("{:>3}  {}", ++number, to_string(step.serves)), 20, describe(step));
  }
}

void guarantees(Page& page, const Plan& plan) {
  page.title("guarantees");
  for (const ReceiptLine& line : plan.guarantees) {
    page.raw("  " + paint(pad(to_string(line.standing), 8), hue_of(line.standing), page.colour()));
    page.row(to_string(line.guarantee), 15, line.mechanism);
  }
}

}  // namespace

bool is_secret(const Plan& plan, std::string_view name) {
  return plan.gateway &&
         std::ranges::find(plan.gateway->secrets, name, &SecretGrant::name) != plan.gateway->secrets.end();
}

std::string render_plan(const Plan& plan, Colour colour) {
  Page page(colour);
  head(page, plan);
  if (!plan.weakenings.empty()) {
    page.title("weakened, as the policy allows");
    for (const std::string& weakening : plan.weakenings) page.row("-", 1, weakening);
  }
  if (!plan.cgroup.empty()) {
    page.title("cgroup, before the guest's first instruction");
    for (const CgroupSetting& setting : plan.cgroup) {
      page.row(to_string(setting.serves), 20,
               setting.file.empty() ? fmt::format("{}: counted", to_string(setting.controller))
                                    : fmt::format("{} = {}{}", setting.file, setting.value,
                                                  setting.required ? "" : ", if the kernel has it"));
    }
  }
  if (!plan.bwrap_args.empty()) {
    page.title("bwrap");
    page.raw("  " + fit(printable_command(plan.bwrap_args), 8000) + "\n");
  }
  if (plan.gateway) way_out(page, *plan.gateway);
  steps(page, plan);
  guarantees(page, plan);
  return page.take();
}

}  // namespace cloche::cli
