#include "cli/attendant.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/borrowed_stance.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/run_place.h"
#include "cli/terminal.h"
#include "engine/resident.h"
#include "host/probe.h"
#include "keeper/means.h"
#include "keeper/peer.h"
#include "keeper/place.h"
#include "keeper/protocol.h"
#include "keeper/standing.h"
#include "sys/channel.h"
#include "sys/file.h"
#include "sys/turns.h"
#include "wire/handover.h"

namespace cloche::cli {
namespace {

using keeper::Standing;

constexpr int kPatienceMs = 100;          // with a command that has connected and says nothing
constexpr unsigned kPatienceSeconds = 2;  // with what has to be read for a run
constexpr int kFarewellMs = 1;            // for a command that knows how its run has ended

// A command that has connected.
class Caller {
 public:
  Caller(Fd socket, keeper::Peer peer) : socket_(std::move(socket)), peer_(std::move(peer)) {}

  int descriptor() const { return socket_.get(); }
  // Its words, if it may be served. `room`: for its message; `meanwhile`: what can be done before they come.
  template <typename Work>
  std::optional<Stance> receive(const Standing& ours, std::string& room, Work meanwhile);
  // From here on its run is ours; unless it has taken it back.
  bool take() const {
    pollfd full{token_.get(), POLLIN, 0};
    std::uint64_t token = 0;
    return ::poll(&full, 1, 0) > 0 && ::read(token_.get(), &token, sizeof token) == sizeof token;
  }
  void tell(int code) const {
    ::fcntl(socket_.get(), F_SETFL, 0);
    const wire::HandoverAnswer answer{code};
    (void)sys::send_bytes(socket_.get(), &answer, sizeof answer, {});  // or it is gone
  }
  // From now on its end is ours, until it is told how its run has ended: what is still to be written to its streams may
  // be taken by nobody, and then we would wait for ever, for a command that is not there any more.
  void end_with_us() const {
    ::fcntl(socket_.get(), F_SETOWN, ::getpid());
    ::fcntl(socket_.get(), F_SETFL, O_ASYNC);
  }
  bool is_gone(int within_ms = 0) const {
    pollfd end{socket_.get(), POLLRDHUP, 0};
    return ::poll(&end, 1, within_ms) > 0;
  }
  // Whether it asks for the end of its run, or has gone itself.
  enum class Word : std::uint8_t { kNothing, kEnd, kGone };
  Word listen() const;

 private:
  Fd socket_;
  keeper::Peer peer_;
  Fd token_;
};

template <typename Work>
std::optional<Stance> Caller::receive(const Standing& ours, std::string& room, Work meanwhile) {
  // Whoever is not served has said it in vain, and nothing of it stays.
  struct Wiped {
    std::string& text;
    std::size_t used = 0;
    ~Wiped() { ::explicit_bzero(text.data(), used); }
  } wiped{room};

  // What makes no wall, while it looks at us: it has yet to ask.
  if (!keeper::same_standing(peer_, ours, keeper::Look::kClock) || !keeper::same_means(peer_)) return std::nullopt;
  meanwhile();
  pollfd readable{socket_.get(), POLLIN, 0};
  if (::poll(&readable, 1, kPatienceMs) <= 0) return std::nullopt;
  Stance out;
  auto received = sys::receive_bytes(socket_.get(), room.data(), room.size());
  constexpr std::size_t kRest = wire::kHandoverFds - 2;
  wire::Handover head;
  if (received && *received) wiped.used = (*received)->size;
  if (!received || !*received || (*received)->size < sizeof head || (*received)->rest.size() != kRest) {
    return std::nullopt;
  }
  std::memcpy(&head, room.data(), sizeof head);
  if (head.magic != wire::kHandoverMagic) return std::nullopt;
  // Who speaks must be who connected, since that is the one that is looked at; and it is looked at now that it has
  // asked. Without a handle on it nobody could tell whether that number is still its own.
  if (!peer_.handle().valid() || peer_.pid() != (*received)->sender) return std::nullopt;
  const auto theirs = keeper::same_standing(peer_, ours, keeper::Look::kWalls);
  if (!theirs) return std::nullopt;
  const std::size_t first = theirs->umask.find_first_not_of(" \t");
  if (first == std::string::npos) return std::nullopt;
  std::from_chars(theirs->umask.data() + first, theirs->umask.data() + theirs->umask.size(), out.umask, 8);
  out.strings.assign(room.begin() + sizeof head, room.begin() + static_cast<std::ptrdiff_t>((*received)->size));
  out.words = head.words;
  out.variables = head.variables;
  out.streams[0] = std::move((*received)->fd);
  out.streams[1] = std::move((*received)->second);
  out.streams[2] = std::move((*received)->rest[0]);
  out.directory = std::move((*received)->rest[1]);
  token_ = std::move((*received)->rest[2]);
  return out;
}

Caller::Word Caller::listen() const {
  wire::HandoverSignal word;
  auto received = sys::receive_bytes(socket_.get(), &word, sizeof word);
  if (received && !*received) return Word::kNothing;
  return received && (*received)->size == sizeof word ? Word::kEnd : Word::kGone;
}

// Without links that lead each process elsewhere (/proc/self/fd/3, /dev/stdin, /dev/fd/63), and nothing of /proc
// itself. Before Linux 5.6 nobody can tell.
Fd open_alike(const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | flags;
  how.resolve = RESOLVE_NO_MAGICLINKS;
  Fd out(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  struct statfs fs{};
  if (!out.valid() || ::fstatfs(out.get(), &fs) != 0 || fs.f_type == PROC_SUPER_MAGIC) return {};
  return out;
}

// What can be read only once is for whoever does the run in the end, and so is what is something else for each process.
bool can_be_read_again(const std::string& path) {
  const Fd file = open_alike(path, 0);
  struct stat st{};
  return file.valid() && ::fstat(file.get(), &st) == 0 && S_ISREG(st.st_mode);
}

// Where a file is to be made: what is wrong with the place is told elsewhere.
bool is_the_same_place(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return open_alike(slash == std::string::npos ? "." : path.substr(0, slash + 1), O_DIRECTORY).valid();
}

bool is_plain(const RunArgs& args) {
  for (const char* name : wire::kOwnOptions) {
    if (args.parsed.has(name)) return false;
  }
  std::vector<std::string> read = named_ceilings(args);
  if (args.parsed.has("--policy")) read.push_back(args.parsed.value("--policy"));
  const char* ceiling = std::getenv("CLOCHE_CEILING");  // NOLINT(concurrency-mt-unsafe): one thread
  if (ceiling != nullptr && *ceiling != '\0') read.emplace_back(ceiling);
  if (!args.parsed.dashes && !args.parsed.operands.empty()) read.push_back(args.parsed.operands.front());  // the script
  if (args.parsed.has("--report") && !is_the_same_place(args.parsed.value("--report"))) return false;
  return !args.from_stdin() && std::ranges::all_of(read, can_be_read_again);
}

// Of a cpu. With longer turns than the guest's this process is not put before it for each line that it writes, nor
// before the command that is told of its end. Not much longer: who gives up a turn beside busy processes waits for as
// long (keeper/client.cc). And not where a guest is watched: until its call has been read a signal may interrupt it.
class Turns {
 public:
  static constexpr std::chrono::milliseconds kUsual{0};
  static constexpr std::chrono::milliseconds kLonger{4};

  void take(std::chrono::milliseconds length) {
    if (std::exchange(now_, length) != length) sys::take_turns_of(length);
  }

 private:
  std::chrono::milliseconds now_ = kUsual;
};

// The run of one caller.
class AttendedPlace : public RunPlace {
 public:
  AttendedPlace(ResidentEngine& engine, const Caller& caller, Turns& turns)
      : engine_(engine), caller_(caller), turns_(turns) {}

  // What does not depend on what is asked for.
  void prepare() {
    engine_.look_ahead();
    cancel_ = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  }
  Result<int> begin(const RunArgs& /*args*/) override {
    if (!cancel_.valid()) return fail(ErrorCode::kSystem, "attendant", "no descriptor left");
    CLOCHE_TRY_ASSIGN(watch_, engine_.poller().watch(caller_.descriptor(), EPOLLIN, [this](auto) { on_word(); }));
    return cancel_.get();
  }
  bool knows(const Policy& policy) const override { return engine_.knows(policy); }
  bool takes(const Policy& policy, const Request& request) override {
    plan_ = engine_.plan_for(policy, request);
    ::alarm(0);
    return plan_ && caller_.take();
  }
  Report run(const Policy& policy, const Request& request, RunWiring wiring, const Keep& /*keep*/) override {
    turns_.take(plan_->watch == filter::Watch::kNothing ? Turns::kLonger : Turns::kUsual);
    Report report = engine_.run(plan_, policy, request, std::move(wiring));
    caller_.end_with_us();
    if (caller_.is_gone()) leave_streams();  // before we could hear of it that way
    return report;
  }
  bool answers_for_errors() const override { return false; }

 private:
  void on_word() {
    const Caller::Word word = caller_.listen();
    if (word == Caller::Word::kNothing) return;
    // Once for each time that it is asked for. A caller that is gone asks until there is no run any more: for its end,
    // for its end at once, and that nobody waits for what its output is connected to.
    constexpr long kAtOnce = 1;
    constexpr long kAgain = 1'000'000;
    const bool gone = word == Caller::Word::kGone;
    const itimerspec when{{0, gone ? kAgain : 0}, {0, kAtOnce}};
    ::timerfd_settime(cancel_.get(), 0, &when, nullptr);
    if (gone) watch_.reset();
  }

  ResidentEngine& engine_;
  const Caller& caller_;
  Turns& turns_;
  Fd cancel_;
  Poller::Watch watch_;
  std::shared_ptr<const Plan> plan_;
};

// Variables that choose another init, or another place for groups, than ours hold for a command's own run only.
bool operator==(const ProbeOptions& a, const ProbeOptions& b) {
  return a.init_override == b.init_override && a.cgroup_name == b.cgroup_name;
}

// Listens only while there is time for a caller: what a command hands over lies in the socket until somebody takes it,
// and whoever reads the command's output would wait for as long, although the command has turned to its work itself.
class Listener {
 public:
  explicit Listener(Fd directory) : directory_(std::move(directory)) {}
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&&) = delete;
  // The name goes with whoever listens, unless it is somebody else's by now.
  ~Listener() {
    if (directory_.valid() && !name_.empty() && name() == name_) {
      ::unlinkat(directory_.get(), wire::kAttendantSocket, 0);
    }
  }

  Status begin(Poller& poller, Poller::Handler on_caller) {
    // Of a keeper that came after ours, whose end we have yet to hear of.
    if (!name_.empty() && name() != name_) return fail(ErrorCode::kRefused, "attendant", "another one has its place");
    CLOCHE_TRY_ASSIGN(socket_, keeper::listen_as_attendant(directory_));
    CLOCHE_TRY(sys::set_nonblocking(socket_.get()));
    name_ = name();
    CLOCHE_TRY_ASSIGN(watch_, poller.watch(socket_.get(), EPOLLIN, std::move(on_caller)));
    return {};
  }
  // One caller; all others are sent away, and so is everybody from now on: who knows how long this one takes.
  Fd accept_last() {
    Fd out = accepted();
    watch_.reset();
    // Nobody connects any more, and who has is sent away. To close it is dearer, and can wait until there is another
    // one.
    ::shutdown(socket_.get(), SHUT_RDWR);
    while (accepted().valid()) {
    }
    return out;
  }

 private:
  Fd accepted() const { return Fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }
  // Numbers of inodes come again, with another time.
  std::string name() const {
    struct stat st{};
    if (::fstatat(directory_.get(), wire::kAttendantSocket, &st, AT_SYMLINK_NOFOLLOW) != 0) return {};
    return fmt::format("{} {} {}", st.st_ino, st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
  }
  Fd directory_;
  Fd socket_;
  Poller::Watch watch_;
  std::string name_;
};

class Attendant {
 public:
  Attendant(std::unique_ptr<ResidentEngine> engine, Listener listener, Standing standing)
      : engine_(std::move(engine)), listener_(std::move(listener)), standing_(std::move(standing)) {}

  Status serve() {
    CLOCHE_TRY(listen());
    while (engine_->is_of_use()) {
      CLOCHE_TRY(engine_->wait(order_at_));
      if (Clock::now() >= order_at_) {
        order_at_ = Clock::time_point::max();
        engine_->top_up();
        if (!called_ && !engine_->host_is_the_same(ResidentEngine::Time::kIdle)) break;  // the keeper starts another
      }
      if (!called_) continue;
      Fd socket = listener_.accept_last();
      auto peer = keeper::Peer::of(socket);
      if (peer && attend_to(Caller(std::move(socket), std::move(*peer)))) engine_->release();
      if (outdated_ || !engine_->is_of_use()) break;  // the name may be the next one's already
      CLOCHE_TRY(listen());
      order_at_ = Clock::now() + keeper::kFarewell;
    }
    return {};
  }

 private:
  Status listen() {
    called_ = false;
    return listener_.begin(engine_->poller(), [this](auto) { called_ = true; });
  }

  // Whether there was a run.
  bool attend_to(Caller caller) {
    if (keeper::identity_of(path_) != program_ || keeper::identity_of(*engine_->host().init) != init_ ||
        !engine_->host_is_the_same(ResidentEngine::Time::kBeforeARun)) {
      outdated_ = true;  // the keeper starts what is there now
      return false;
    }
    // A policy may lie on a server that does not answer. Until the run is ours nobody misses us: the command
    // does it itself, and the keeper starts another one of us.
    const struct Patience {
      Patience() { ::alarm(kPatienceSeconds); }
      ~Patience() { ::alarm(0); }
    } patience;
    AttendedPlace place(*engine_, caller, turns_);
    auto stance = caller.receive(standing_, room_, [&] { place.prepare(); });
    if (!stance) return false;
    const auto code = run_with(place, std::move(*stance));
    if (!code) return false;
    // What it lent is nobody's again. It is woken on a sleeping cpu, which takes a while; on this one, if it gets free,
    // it is at once.
    caller.tell(*code);
    (void)caller.is_gone(kFarewellMs);
    return true;
  }

  std::optional<int> run_with(AttendedPlace& place, Stance stance) {
    const auto borrowed = BorrowedStance::take(std::move(stance));
    if (!borrowed || !(probe_options_from_environment() == probing_)) return std::nullopt;
    const Words words = borrowed->words();
    if (words.empty() || std::string_view(words.front()) != "run") return std::nullopt;
    const auto args = read_run_args(words.subspan(1));
    if (!args || !is_plain(*args)) return std::nullopt;
    return run_at(place, *args);
  }

  std::unique_ptr<ResidentEngine> engine_;
  Listener listener_;
  Standing standing_;
  ProbeOptions probing_ = probe_options_from_environment();
  Turns turns_;
  std::string room_ = std::string(wire::kMostHandover, '\0');
  std::string path_ = own_program();
  std::string program_ = keeper::identity_of(path_);
  std::string init_ = keeper::identity_of(*engine_->host().init);
  bool called_ = false;
  bool outdated_ = false;
  Clock::time_point order_at_ = Clock::time_point::max();
};

Status start(Words words) {
  int keeper = -1;
  const std::string_view number = words[1];
  std::from_chars(number.data(), number.data() + number.size(), keeper);
  if (keeper < 3) return fail(ErrorCode::kInvalidInput, "attendant", "no socket of a keeper");
  Fd socket(keeper);
  if (::fcntl(keeper, F_SETFD, FD_CLOEXEC) != 0) return fail_errno(errno, "attendant", "no socket of a keeper");
  CLOCHE_TRY_ASSIGN(auto engine, ResidentEngine::make(std::move(socket)));
  CLOCHE_TRY_ASSIGN(Standing standing, keeper::standing_of("self"));
  CLOCHE_TRY_ASSIGN(Fd directory, keeper::open_directory(words[0], false));
  Attendant attendant(std::move(engine), Listener(std::move(directory)), std::move(standing));
  return attendant.serve();
}

}  // namespace

int attend(Words words) {
  if (words.size() != 2) return kExitUsage;
  // Nothing of this user's other processes may look into it (CONTAINMENT 25).
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return kExitFailed;
  ignore_broken_pipes();
  for (const int ends : {SIGALRM, SIGIO}) ::signal(ends, SIG_DFL);  // whatever our keeper was started with
  const Status done = start(words);
  return done ? 0 : kExitFailed;
}

}  // namespace cloche::cli
