// What passes between one client and one server of HTTP/1.1, as a machine without sockets: bytes of both sides go in,
// bytes for both sides come out, and every request waits for a verdict before a byte of it goes on.
//
//   from_client()  ─►  waiting() ─► allow() / refuse()  ─►  to_server()
//   to_client()    ◄─  response, checked and written anew  ◄─  from_server()
//
// One request is under way at a time; the next head is not looked at before the response to the former has ended and
// was taken by the client. So a server never holds two requests whose order or framing it could see in another way, an
// answer belongs to the only request there is, and 101 comes before anything that follows it is read as HTTP.
//
// Each side may give as many bytes as client_room() and server_room() say. What waits in here is bounded: 64 KiB that
// came in and 64 KiB plus one head that go out, per direction.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "proto/http_body.h"
#include "proto/http_head.h"
#include "proto/http_message.h"
#include "proto/http_queue.h"

namespace cloche::proto {

inline constexpr std::size_t kMaxHttpWaiting = 64 * 1024;

enum class HttpPart {
  kMore,
  kLast,
  kPause,  // nothing came for a while: a watcher that holds bytes back may let them go
};

// Who wants to see or change what passes after a request was allowed. An error stops the exchange. A body may be held
// back and given out in a later call, all of it by kLast; with a Content-Length its size must stay the same in sum.
// After 101 the bytes of either side come as a body that goes on.
class HttpWatcher {
 public:
  virtual ~HttpWatcher() = default;
  virtual std::optional<HttpError> request_body(std::string& /*payload*/, HttpPart /*part*/) { return std::nullopt; }
  virtual std::optional<HttpError> response_head(HttpResponseHead& /*head*/) { return std::nullopt; }
  virtual std::optional<HttpError> response_body(std::string& /*payload*/, HttpPart /*part*/) { return std::nullopt; }
};

enum class HttpPhase {
  kHead,      // between requests, or in the middle of a head
  kDeciding,  // waiting() is there; allow() or refuse() it
  kRunning,   // the request, the response or both are under way
  kOpaque,    // after 101: bytes pass as they are
  kDone,      // give to_client() out, then close both sides
};

class HttpExchange {
 public:
  explicit HttpExchange(HttpWatcher* watcher = nullptr) : watcher_(watcher) {}

  HttpPhase phase() const { return phase_; }

  std::size_t client_room() const;  // how many bytes from_client() takes now; 0: do not read from the client
  std::size_t server_room() const;
  bool want_client_bytes() const { return client_room() > 0; }
  bool want_server_bytes() const { return server_room() > 0; }
  void from_client(std::string_view bytes);  // bytes beyond the room end the exchange
  void from_server(std::string_view bytes);
  void client_closed();
  void server_closed(std::string why = {});  // why it is no server to speak with, if that is known
  // Nothing came for a while, from neither side: the watcher hears of it for a request's body and, after 101, for both
  // directions. A response's body has an end that can be waited for.
  void pause();

  std::string_view to_client() const { return to_client_.view(); }
  std::string_view to_server() const { return to_server_.view(); }
  void client_took(std::size_t count);
  void server_took(std::size_t count);
  // kOpaque: one side has ended and the other has all of it; pass the end on (SHUT_WR).
  bool client_gets_end() const;
  bool server_gets_end() const;

  // The request that waits for a verdict, or null.
  const HttpRequestHead* waiting() const { return phase_ == HttpPhase::kDeciding ? &head_ : nullptr; }
  // Sends the head on, changed or not, as a server expects it: target in origin form, Host as in the target and in its
  // plain spelling, nothing that is meant for one hop. Framing, version and connection are those that were parsed,
  // whatever `head` says. On an error (a CONNECT, a head that check_head() does not take, no server) nothing has
  // happened.
  Status allow(HttpRequestHead head);
  void refuse(HttpError error);
  // The server ended, or spoke before it was asked: a request that waits cannot be passed on to it.
  bool server_left() const { return server_closed_ || !in_server_.empty(); }
  // Ends for that reason. If it has answered before, without a word: the client sees what it would see without us, a
  // connection that was kept and is over, and asks again.
  void server_lost();
  // While nothing is under way: the server's side is another connection from now on, and what the former said or that
  // it ended does not count.
  void new_server();
  // For a CONNECT that waits: what the client sent after the head. The exchange is done.
  std::string release_client_bytes();

  // kDone: why, if it was not the usual end. Its text is what the client was told, unless an answer was on its way.
  const std::optional<HttpError>& failure() const { return failure_; }
  // kDone: the response is not whole. Reset the connection where its end would look like a good one.
  bool cut_off() const { return cut_off_; }

 private:
  // A body on its way through.
  struct Flow {
    HttpBodyDecoder decoder{HttpFraming{}};
    HttpFraming out;  // how it is framed on the other side; `length` counts down
    bool ended = true;
  };
  using BodyFilter = std::optional<HttpError> (HttpWatcher::*)(std::string&, HttpPart);

  void advance();
  bool step_client();
  bool step_server();
  bool read_request_head();
  bool read_response_head();
  bool take_response_head(HttpResponseHead head);
  void pass_interim(HttpResponseHead head);
  bool switch_protocols(HttpResponseHead head);
  void begin_flow(Flow& flow, HttpFraming in, HttpFraming out, HttpQueue& to, BodyFilter filter);
  bool pass_body(Flow& flow, HttpQueue& from, HttpQueue& to, BodyFilter filter);
  bool emit(Flow& flow, std::string payload, HttpPart part, HttpQueue& to, BodyFilter filter);
  bool pass_opaque(HttpQueue& from, HttpQueue& to, BodyFilter filter);
  void pause_opaque(HttpQueue& to, BodyFilter filter);
  bool end_opaque(bool& told, HttpQueue& to, BodyFilter filter);
  bool client_ended();
  bool server_ended();
  bool response_ended();
  bool fail(HttpError error);
  bool end_quietly(HttpError error);
  void finish();

  HttpWatcher* watcher_;
  HttpPhase phase_ = HttpPhase::kHead;
  HttpQueue in_client_, in_server_, to_client_, to_server_;
  bool client_closed_ = false;
  bool client_end_told_ = false;  // kOpaque: to the watcher
  bool server_end_told_ = false;
  bool server_closed_ = false;
  std::string server_problem_;

  HttpRequestParser request_parser_;
  HttpResponseParser response_parser_{HttpAsked::kOther};
  HttpRequestHead head_;  // as it was parsed
  Flow request_, response_;
  HttpAsked asked_ = HttpAsked::kOther;
  bool websocket_ = false;     // was offered to the server
  bool continued_ = false;     // the server said 100
  bool answer_began_ = false;  // the response's head is with the client
  bool server_spoke_ = false;  // since the request
  bool close_after_ = false;   // no further request on this connection
  bool body_stopped_ = false;  // the server does not want the rest of the request
  int interims_ = 0;
  std::size_t requests_ = 0;

  std::optional<HttpError> failure_;
  bool cut_off_ = false;
};

}  // namespace cloche::proto
