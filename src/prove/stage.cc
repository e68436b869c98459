#include "prove/stage.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>

#include "base/units.h"
#include "host/programs.h"
#include "prove/manifest.h"
#include "store/place.h"
#include "sys/file.h"

namespace cloche::prove {
namespace fs = std::filesystem;
namespace {

constexpr const char* kStep = "stage";
constexpr const char* kPrefix = "cloche-prove-";
constexpr const char* kKept = "kept";       // somebody wants to look at it
constexpr std::size_t kLongestParent = 64;  // a socket below has to fit into 107 bytes
// Where everybody can go. The last two every cell has of its own, which hides what is planted there by itself.
constexpr std::array<const char*, 3> kShared = {"/var/tmp", "/tmp", "/dev/shm"};

bool is_shared(const std::string& parent) { return std::ranges::find(kShared, parent) != kShared.end(); }

bool can_hold_programs(const std::string& parent) {
  struct statvfs info{};
  return ::access(parent.c_str(), W_OK | X_OK) == 0 && ::statvfs(parent.c_str(), &info) == 0 &&
         (info.f_flag & ST_NOEXEC) == 0;
}

// An ordinary user's lies beside the state directory, where nobody else can go; inside of it nothing can be granted.
// Root's guests have other uids and must be able to go there, which root's home does not let them.
Words parents_for(const Environment& env) {
  Words out;
  const auto own = store::choose_place(env);
  const store::Place beside = own ? store::Place{own->directory + "-prove", own->chosen} : store::Place{};
  if (::geteuid() != 0 && own && store::make_state(beside)) out.push_back(beside.directory);
  out.insert(out.end(), kShared.begin(), kShared.end());
  std::erase_if(out, [](const std::string& one) { return one.size() > kLongestParent || !can_hold_programs(one); });
  if (out.empty()) out.emplace_back(kShared.front());  // what is wrong with it will be told
  return out;
}

// In a grant the bait would be granted as well, which nobody meant to grant; in a writable one tier 0 cannot even keep
// the programs read-only.
std::string parent_for(const Words& parents, const Granted& granted) {
  for (const Words* grants : {&granted.places, &granted.writable}) {
    const auto found =
        std::ranges::find_if(parents, [&](const std::string& one) { return place_around(one, *grants).empty(); });
    if (found != parents.end()) return *found;
  }
  return parents.front();
}

enum class Wait : std::uint8_t { kNo };
bool lock(const Fd& file, Wait) { return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0; }

// What another stage left whose owner and guardian are both gone.
void remove_stale(const std::string& parent) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(parent.c_str()), ::closedir);
  if (!dir) return;
  std::vector<std::string> found;
  while (const dirent* entry = ::readdir(dir.get())) {
    if (std::string_view(entry->d_name).starts_with(kPrefix)) found.emplace_back(entry->d_name);
  }
  for (const std::string& name : found) {
    const Fd stage(::openat(::dirfd(dir.get()), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info{};
    if (!stage.valid() || ::fstat(stage.get(), &info) != 0 || info.st_uid != ::geteuid()) continue;
    if (::faccessat(stage.get(), kKept, F_OK, AT_SYMLINK_NOFOLLOW) == 0) continue;
    const Fd file(::openat(stage.get(), "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    // Without a lock it may be one that is just being made.
    constexpr time_t kLongEnough = 600;
    const bool abandoned = file.valid() ? lock(file, Wait::kNo) : ::time(nullptr) - info.st_mtime > kLongEnough;
    if (abandoned) (void)sys::remove_tree(parent + "/" + name);
  }
}

// Takes a directory of ours back, also from who has it open already. Links are not followed.
Fd close_to_others(int parent, const char* name) {
  Fd dir(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (dir.valid() && ::fstat(dir.get(), &info) == 0 && info.st_uid == ::geteuid()) (void)::fchmod(dir.get(), 0700);
  return dir;
}
void close_place(int parent, const char* name) {
  const Fd place = close_to_others(parent, name);
  for (const char* inner : {"here", "write", "home", "read"}) {
    if (place.valid()) (void)close_to_others(place.get(), inner);
  }
}
void close_stage(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), ::closedir);
  if (!dir) return;
  (void)::fchmod(::dirfd(dir.get()), 0700);
  while (const dirent* entry = ::readdir(dir.get())) {
    if (entry->d_name[0] != '.') close_place(::dirfd(dir.get()), entry->d_name);
  }
}

// Whoever still ends in there, or plants something, may stand in the way for a moment.
bool remove_patiently(const std::string& path, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    if (round > 0) ::usleep(50'000);
    if (sys::remove_tree(path) && ::access(path.c_str(), F_OK) != 0) return true;
  }
  return false;
}

// Where others can look for it; who has a private directory needs no secret.
std::string new_secret(const std::string& parent) {
  std::uint64_t number = 0;
  if (!is_shared(parent)) return {};
  while (::getrandom(&number, sizeof number, 0) != sizeof number) continue;
  return fmt::format("-{:016x}", number);
}

[[noreturn]] void guard_until_end(int leash, const std::string& path) {
  ::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
  ::prctl(PR_SET_NAME, "cloche-prove");
  (void)!::chdir("/");
  for (int fd = 0; fd < 3; ++fd) ::close(fd);
  char word = 0;
  ssize_t got = 0;
  while ((got = ::read(leash, &word, 1)) < 0 && errno == EINTR) continue;
  if (got == 0) {
    close_stage(path);
    (void)remove_patiently(path, 200);
  }
  ::_exit(0);
}

Status copy_program(const std::string& from, const std::string& to, mode_t mode) {
  std::error_code error;
  fs::copy_file(from, to, error);
  if (error) return fail_errno(error.value(), kStep, fmt::format("{} could not be copied", shown_text(from)));
  if (::chmod(to.c_str(), mode) != 0) return fail_errno(errno, kStep, "a copy's mode could not be set");
  return {};
}

Status write_text(const std::string& path, std::string_view text) {
  CLOCHE_TRY_ASSIGN(const Fd file, sys::open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return fail_errno(errno, kStep, fmt::format("{} could not be written", shown_text(path)));
  }
  return {};
}

}  // namespace

Result<std::string> find_attacks() {
  std::vector<std::string> tried;
  for (const std::string& init : host::default_init_candidates({})) {
    const std::string folder = fs::path(init).parent_path().string() + "/attacks";
    if (host::is_trusted_program(folder + "/bait", ::geteuid(), ::getegid())) return folder;
    tried.push_back(folder);
  }
  return fail(ErrorCode::kNotFound, "attacks", fmt::format("they are not in {}", fmt::join(tried, ", nor in ")),
              "install them with cloche: make install");
}

Result<std::string> manifest_in(const std::string& folder) {
  const std::string path = folder + "/manifest";
  // Without O_NONBLOCK a named pipe would hold us until somebody writes to it.
  CLOCHE_TRY_ASSIGN(const Fd file, sys::open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return fail_errno(errno, "open " + path, "could not be inspected");
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorCode::kInvalidInput, "read " + path, "it is no regular file",
                "install cloche and its attacks together");
  }
  std::string text(kMostManifest + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::read(file.get(), text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "read " + path, "could not be read");
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  if (size > kMostManifest) {
    return fail(ErrorCode::kInvalidInput, "read " + path, fmt::format("is larger than {} bytes", kMostManifest));
  }
  text.resize(size);
  return text;
}

Result<Stage> Stage::make(const std::string& attacks_from, const std::vector<Attack>& attacks, const Environment& env,
                          const Granted& granted) {
  const Words parents = parents_for(env);
  for (const std::string& one : parents) remove_stale(one);
  const std::string parent = parent_for(parents, granted);
  std::string path = fmt::format("{}/{}XXXXXX", parent, kPrefix);
  if (::mkdtemp(path.data()) == nullptr) {
    return fail_errno(errno, kStep, fmt::format("no directory could be made in {}", shown_text(parent)));
  }
  CLOCHE_TRY_ASSIGN(Fd held, sys::open_file(path + "/lock", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  (void)lock(held, Wait::kNo);
  Stage stage(path, new_secret(parent), std::move(held));
  CLOCHE_TRY(stage.guard());
  CLOCHE_TRY(stage.fill(attacks_from, attacks));
  return stage;
}

Status Stage::guard() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, kStep, "no pipe could be made");
  const Fd reading(ends[0]);
  leash_ = Fd(ends[1]);
  guardian_ = ::fork();
  if (guardian_ < 0) return fail_errno(errno, kStep, "no process could be made");
  if (guardian_ == 0) {
    leash_.reset();
    guard_until_end(reading.get(), path_);
  }
  return {};
}

Status Stage::fill(const std::string& from, const std::vector<Attack>& attacks) const {
  // Guests have to go through, and need not see what else is there.
  if (::chmod(path_.c_str(), 0711) != 0) return fail_errno(errno, kStep, "its mode could not be set");
  for (const char* name : {"victims", "state"}) {
    if (::mkdir(in(name).c_str(), 0755) != 0) return fail_errno(errno, kStep, "a directory could not be made");
  }
  if (::chmod(in("state").c_str(), 0700) != 0) return fail_errno(errno, kStep, "its mode could not be set");
  CLOCHE_TRY(copy_program(from + "/bait", in("bait"), 0755));
  // For where the bait has to make a user namespace, in which root's own are not known to be root's.
  for (const std::string name : {"cloche-init", "cloche-gateway"}) {
    if (::geteuid() == 0 || ::access((from + "/../" + name).c_str(), F_OK) != 0) continue;
    CLOCHE_TRY(copy_program(from + "/../" + name, in(name), 0755));
  }
  std::set<std::string> done;
  for (const Attack& attack : attacks) {
    if (!done.insert(attack.victim).second || ::access((from + "/" + attack.victim).c_str(), F_OK) != 0) continue;
    CLOCHE_TRY(copy_program(from + "/" + attack.victim, victim(attack.victim), 0755));
    // Does nothing but tell that it has more rights than its caller.
    if (attack.victim == "23_setuid")
      CLOCHE_TRY(copy_program(victim(attack.victim), victim("23_setuid_helper"), 04755));
  }
  constexpr std::string_view kPolicy = "version = 1\nextends = \"untrusted\"\n";
  // Code of low trust never runs on tier 0.
  constexpr std::string_view kProcess =
      "version = 1\nextends = \"untrusted\"\ntier = \"process\"\ntrust = \"medium\"\n";
  CLOCHE_TRY(write_text(in("policy.toml"), kPolicy));
  return write_text(in("policy-process.toml"), kProcess);
}

Stage::Stage(Stage&& other) noexcept
    : path_(std::move(other.path_)),
      secret_(std::move(other.secret_)),
      lock_(std::move(other.lock_)),
      leash_(std::move(other.leash_)),
      guardian_(std::exchange(other.guardian_, -1)) {}

Status Stage::renew(const std::string& place) const {
  const Fd stage(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  close_place(stage.get(), place.substr(path_.size() + 1).c_str());
  for (int number = 0; !remove_patiently(place, 20); ++number) {
    const std::string aside = fmt::format("{}-aside-{}", place, number);
    if (::rename(place.c_str(), aside.c_str()) == 0) break;
    if (number == 100) return fail_errno(errno, kStep, fmt::format("{} could not be removed", shown_text(place)));
  }
  if (::mkdir(place.c_str(), 0755) != 0 || ::mkdir((place + "/here").c_str(), 0777) != 0) {
    return fail_errno(errno, kStep, "a directory could not be made");
  }
  return {};
}

bool Stage::has(const std::string& name) const { return ::access(victim(name).c_str(), X_OK) == 0; }

void Stage::keep() {
  const Fd mark(::open(in(kKept).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  (void)!::write(leash_.get(), "k", 1);
}

Stage::~Stage() {
  if (guardian_ <= 0) return;
  leash_.reset();
  while (::waitpid(guardian_, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace cloche::prove
