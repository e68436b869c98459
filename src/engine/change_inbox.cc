#include "engine/change_inbox.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

namespace cloche {
namespace {

constexpr const char* kOver = "the run is over";

}  // namespace

Result<std::shared_ptr<ChangeInbox>> ChangeInbox::make(LiveGrants grants) {
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return fail_errno(errno, "grant", "no descriptor left for it");
  return std::shared_ptr<ChangeInbox>(new ChangeInbox(std::move(grants), std::move(wake)));
}

Status ChangeInbox::ask(WayOut::Turn turn, const egress::Change& change) {
  CLOCHE_TRY(turn == WayOut::Turn::kGrant ? grants_.check_grant(change) : check_change(change));
  auto job = std::make_shared<Job>(Job{turn, change, {}});
  auto answer = job->answer.get_future();
  {
    std::lock_guard lock(mutex_);
    if (closed_) return fail(ErrorCode::kNotFound, "run", kOver);
    if (loop_ == std::this_thread::get_id()) {
      return fail(ErrorCode::kInvalidInput, "run", "a callback of the run cannot change it", "ask on another thread");
    }
    jobs_.push_back(std::move(job));
  }
  ::eventfd_write(wake_.get(), 1);
  const std::string problem = answer.get();
  if (problem.empty()) return {};
  return fail(ErrorCode::kRefused, {}, problem);
}

void ChangeInbox::open(Poller& poller, Ask ask) {
  auto watch = poller.watch(wake_.get(), EPOLLIN, [this](std::uint32_t) {
    eventfd_t ignored = 0;
    ::eventfd_read(wake_.get(), &ignored);
    work();
  });
  if (!watch) return close();
  ask_ = std::move(ask);
  watch_ = std::move(*watch);
  std::lock_guard lock(mutex_);
  loop_ = std::this_thread::get_id();
}

void ChangeInbox::work() {
  std::deque<std::shared_ptr<Job>> jobs;
  {
    std::lock_guard lock(mutex_);
    jobs.swap(jobs_);
  }
  for (const auto& job : jobs) {
    const Status sent =
        ask_(job->turn, job->change, "program", [job](const std::string& problem) { job->answer.set_value(problem); });
    if (!sent) job->answer.set_value(sent.error().text());
  }
}

void ChangeInbox::close() {
  watch_.reset();
  ask_ = {};
  std::deque<std::shared_ptr<Job>> jobs;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    loop_ = {};
    jobs.swap(jobs_);
  }
  for (const auto& job : jobs) job->answer.set_value(kOver);
}

}  // namespace cloche
