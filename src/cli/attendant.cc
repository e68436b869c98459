#include "cli/attendant.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "cli/borrowed_stance.h"
#include "cli/console.h"
#include "cli/run_place.h"
#include "cli/terminal.h"
#include "engine/resident.h"
#include "host/probe.h"
#include "keeper/place.h"
#include "sys/channel.h"
#include "sys/file.h"
#include "wire/handover.h"

namespace cloche::cli {
namespace {

using keeper::Standing;

constexpr int kPatienceMs = 100;                   // with a command that has connected and says nothing
constexpr std::chrono::milliseconds kFarewell{1};  // a command's own end takes a part of that

// A command that has connected.
class Caller {
 public:
  explicit Caller(Fd socket) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.get(); }
  // Its words, if it may be served. `room`: for its message.
  std::optional<Stance> receive(const Standing& ours, std::string& room);
  // From here on its run is ours.
  bool take() const { return ::eventfd_write(taken_.get(), 1) == 0; }
  void tell(int code) const {
    const wire::HandoverAnswer answer{code};
    (void)sys::send_bytes(socket_.get(), &answer, sizeof answer, {});  // or it is gone
  }
  // Whether it asks for the end of its run, or has gone itself.
  enum class Word : std::uint8_t { kNothing, kEnd, kGone };
  Word listen() const;

 private:
  Fd socket_;
  Fd taken_;
};

std::optional<Stance> Caller::receive(const Standing& ours, std::string& room) {
  pollfd readable{socket_.get(), POLLIN, 0};
  if (::poll(&readable, 1, kPatienceMs) <= 0) return std::nullopt;
  Stance out;
  auto received = sys::receive_bytes(socket_.get(), room.data(), room.size());
  constexpr std::size_t kRest = wire::kHandoverFds - 2;
  wire::Handover head;
  if (!received || !*received || (*received)->size < sizeof head || (*received)->rest.size() != kRest) {
    return std::nullopt;
  }
  std::memcpy(&head, room.data(), sizeof head);
  if (head.magic != wire::kHandoverMagic) return std::nullopt;
  // Who speaks must be who connected, since that is the one that is looked at; and it is looked at now that it has asked.
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  if (peer.pid != (*received)->sender) return std::nullopt;
  const auto theirs = keeper::same_standing(socket_, ours);
  if (!theirs) return std::nullopt;
  const std::size_t first = theirs->umask.find_first_not_of(" \t");
  if (first == std::string::npos) return std::nullopt;
  std::from_chars(theirs->umask.data() + first, theirs->umask.data() + theirs->umask.size(), out.umask, 8);
  out.strings.assign(room, sizeof head, (*received)->size - sizeof head);
  ::explicit_bzero(room.data(), (*received)->size);
  out.words = head.words;
  out.variables = head.variables;
  out.streams[0] = std::move((*received)->fd);
  out.streams[1] = std::move((*received)->second);
  out.streams[2] = std::move((*received)->rest[0]);
  out.directory = std::move((*received)->rest[1]);
  taken_ = std::move((*received)->rest[2]);
  return out;
}

Caller::Word Caller::listen() const {
  wire::HandoverSignal word;
  auto received = sys::receive_bytes(socket_.get(), &word, sizeof word);
  if (received && !*received) return Word::kNothing;
  return received && (*received)->size == sizeof word ? Word::kEnd : Word::kGone;
}

// Runs with more than a program, a policy and a report begin sooner in a process of their own.
bool is_plain(const RunArgs& args) {
  for (const char* name : {"--help", "--keeper", "--tty", "--stdin", "--outputs", "--events"}) {
    if (args.parsed.has(name)) return false;
  }
  return args.workspaces.empty() && args.puts.empty() && args.gets.empty() && args.artifacts.empty() &&
         !args.from_stdin();
}

// The run of one caller.
class AttendedPlace : public RunPlace {
 public:
  AttendedPlace(ResidentEngine& engine, const Caller& caller) : engine_(engine), caller_(caller) {}

  Result<int> begin(const RunArgs& /*args*/) override {
    cancel_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
    if (!cancel_.valid()) return fail_errno(errno, "attendant", "no descriptor left");
    CLOCHE_TRY_ASSIGN(watch_, engine_.poller().watch(caller_.descriptor(), EPOLLIN, [this](auto) { on_word(); }));
    return cancel_.get();
  }
  bool takes(const Policy& policy, const Request& request) override {
    plan_ = engine_.plan_for(policy, request);
    return plan_ && caller_.take();
  }
  Report run(const Policy& /*policy*/, const Request& request, RunWiring wiring, const Keep& /*keep*/) override {
    return engine_.run(plan_, request, std::move(wiring));
  }
  bool answers_for_errors() const override { return false; }

 private:
  void on_word() {
    const Caller::Word word = caller_.listen();
    if (word == Caller::Word::kNothing) return;
    // As often as it is asked for; of a caller that is gone all at once, as if the engine itself had been killed.
    ::eventfd_write(cancel_.get(), word == Caller::Word::kGone ? 2 : 1);
    if (word == Caller::Word::kGone) watch_.reset();
  }

  ResidentEngine& engine_;
  const Caller& caller_;
  Fd cancel_;
  Poller::Watch watch_;
  std::shared_ptr<const Plan> plan_;
};

// Variables that choose another init or another place for groups than ours hold for a command's own run only.
bool chooses_our_host() {
  static const auto value = [](const char* name) {
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
    return std::string(text != nullptr ? text : "");
  };
  static const std::string kInit = value("CLOCHE_INIT");
  static const std::string kCgroup = value("CLOCHE_CGROUP");
  return value("CLOCHE_INIT") == kInit && value("CLOCHE_CGROUP") == kCgroup;
}

// The socket's name goes with whoever listens, unless it is somebody else's by now.
class Listener {
 public:
  static Result<Listener> open(const std::string& path) {
    Listener out;
    CLOCHE_TRY_ASSIGN(out.directory_, keeper::open_directory(path, false));
    CLOCHE_TRY_ASSIGN(out.socket_, keeper::listen_as_attendant(out.directory_));
    CLOCHE_TRY(sys::set_nonblocking(out.socket_.get()));
    out.name_ = out.inode();
    return out;
  }
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener() {
    if (directory_.valid() && inode() == name_) ::unlinkat(directory_.get(), wire::kAttendantSocket, 0);
  }
  int descriptor() const { return socket_.get(); }
  Fd accept() const { return Fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

 private:
  Listener() = default;
  ino_t inode() const {
    struct stat st{};
    return ::fstatat(directory_.get(), wire::kAttendantSocket, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino : 0;
  }
  Fd directory_;
  Fd socket_;
  ino_t name_ = 0;
};

class Attendant {
 public:
  Attendant(std::unique_ptr<ResidentEngine> engine, Listener listener, Standing standing)
      : engine_(std::move(engine)), listener_(std::move(listener)), standing_(std::move(standing)) {}

  Status serve() {
    CLOCHE_TRY_ASSIGN(const Poller::Watch watch,
                      engine_->poller().watch(listener_.descriptor(), EPOLLIN, [this](auto) { on_caller(); }));
    while (engine_->has_keeper()) {
      CLOCHE_TRY(engine_->wait(order_at_));
      if (Clock::now() >= order_at_) {
        order_at_ = Clock::time_point::max();
        engine_->top_up();
      }
      if (!next_.valid()) continue;
      busy_ = true;
      attend_to(Caller(std::move(next_)));
      busy_ = false;
      engine_->release();
      order_at_ = Clock::now() + kFarewell;
    }
    return {};
  }

 private:
  // Who comes while another one is served is sent away at once.
  void on_caller() {
    Fd caller = listener_.accept();
    if (!busy_ && caller.valid()) next_ = std::move(caller);
  }

  void attend_to(Caller caller) {
    auto stance = caller.receive(standing_, room_);
    if (!stance) return;
    auto borrowed = BorrowedStance::take(std::move(*stance));
    if (!borrowed || !chooses_our_host()) return;
    const auto args = read_run_args(borrowed->words().subspan(1));
    if (!args || !is_plain(*args)) return;
    AttendedPlace place(*engine_, caller);
    const auto code = run_at(place, *args);
    if (code) caller.tell(*code);
  }

  std::unique_ptr<ResidentEngine> engine_;
  Listener listener_;
  Standing standing_;
  std::string room_ = std::string(wire::kMostHandover, '\0');
  Fd next_;
  bool busy_ = false;
  Clock::time_point order_at_ = Clock::time_point::max();
};

Status start(Words words) {
  int keeper = -1;
  const std::string_view number = words[1];
  std::from_chars(number.data(), number.data() + number.size(), keeper);
  if (keeper < 3) return fail(ErrorCode::kInvalidInput, "attendant", "no socket of a keeper");
  Fd socket(keeper);
  if (::fcntl(keeper, F_SETFD, FD_CLOEXEC) != 0) return fail_errno(errno, "attendant", "no socket of a keeper");
  CLOCHE_TRY_ASSIGN(auto engine, ResidentEngine::make(probe_fast(), std::move(socket)));
  CLOCHE_TRY_ASSIGN(Standing standing, keeper::standing_of("self"));
  CLOCHE_TRY_ASSIGN(Listener listener, Listener::open(words[0]));
  Attendant attendant(std::move(engine), std::move(listener), std::move(standing));
  return attendant.serve();
}

}  // namespace

int attend(Words words) {
  if (words.size() != 2) return kExitUsage;
  // Nothing of this user's other processes may look into it (CONTAINMENT 25).
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return kExitFailed;
  ignore_broken_pipes();
  (void)chooses_our_host();  // remembers ours
  const Status done = start(words);
  return done ? 0 : kExitFailed;
}

}  // namespace cloche::cli
