// Flow: one connection of the guest's, from its acceptance to its record.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "gateway/stream.h"
#include "report/network.h"

namespace cloche::gateway {

struct Shared;

class Flow {
 public:
  Flow(Shared& shared, Via via);
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;
  ~Flow();  // tells the engine

  Connection record;                 // failed, until somebody knows better
  std::vector<std::string> granted;  // rules or the path: the end of any of them ends this
  std::vector<std::string> secrets;  // names of those that were put into its requests

  void deny(std::string reason);
  void fail(std::string reason);
  // Allowed, and the other side is there: told by itself, its bytes when it is over.
  void allow(std::string reason);

  // Whom to end when the grant ends. Streams outlive this, or are taken out.
  void set_client(Stream* stream) { client_ = stream; }
  void set_server(Stream* stream) { server_ = stream; }
  void abort(std::string reason);
  void tell(std::string reason);  // the record as it is now, for the last time
  bool aborted() const { return aborted_; }

 private:
  Shared& shared_;
  Clock::time_point began_;
  Stream* client_ = nullptr;
  Stream* server_ = nullptr;
  bool aborted_ = false;
  bool told_ = false;
  std::list<Flow*>::iterator place_;
};

}  // namespace cloche::gateway
