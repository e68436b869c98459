// The control socket of a run of the command line: STATE/live/ID.sock. One request and one answer for each connection,
// in the frames that an engine and its gateway use: kGrant or kRevoke, answered by kChanged.
//
// Who asks must be this user, or root, and show a descriptor of the directory that the socket lies in. The latter keeps
// a guest out that was granted this very socket by a careless policy: its gateway passes no descriptors on.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "egress/message.h"
#include "engine/live_grants.h"
#include "supervise/control.h"

namespace cloche {

class RunControl : public Control {
 public:
  // Makes the directory, where `env` has the state of this user; the socket comes with the guest.
  static Result<std::shared_ptr<RunControl>> make(const std::map<std::string, std::string>& env, std::string id,
                                                  LiveGrants grants);
  ~RunControl() override { close(); }

  // Without a socket, when there can be none: the run is what was asked for.
  void open(Poller& poller, Ask ask) override;
  void close() override;

 private:
  struct Caller {
    Fd socket;
    Poller::Watch watch;
    std::string by;
    bool asked = false;
  };
  using Callers = std::list<std::shared_ptr<Caller>>;

  RunControl(Fd live, std::string id, LiveGrants grants)
      : live_(std::move(live)), id_(std::move(id)), grants_(std::move(grants)) {}

  void accept_all();
  void hear(const std::shared_ptr<Caller>& caller);
  Status take(const egress::Framed& request, const std::shared_ptr<Caller>& caller);
  void answer(Caller& caller, const std::string& problem);
  void turn_away(Caller& caller, const std::string& why);
  void drop(const Caller* caller);
  bool is_ours(int descriptor) const;

  Fd live_;
  std::string id_;
  LiveGrants grants_;
  Poller* poller_ = nullptr;
  Ask ask_;
  Fd listener_;
  Poller::Watch watch_;
  Callers callers_;
};

// Asks a live run, and waits for its answer. RUN: an id, the beginning of one, or "last".
struct Asked {
  std::string id;
  std::string problem;  // why not; empty: it is done
};
Result<Asked> ask_run(const std::map<std::string, std::string>& env, std::string_view run, WayOut::Turn turn,
                      const egress::Change& change);

}  // namespace cloche
