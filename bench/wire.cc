// bench_wire: both ends of a connection, to be timed. Small and static, so that it runs in any cell.
//
//   bench_wire serve PORT TLS_PORT CERTIFICATE KEY   answers GET /N with N bytes and takes the body of a POST; one
//                                                    connection for each request. Prints "ready".
//   bench_wire ask ADDRESS PORT [OPTION…]            reads lines "get BYTES COUNT" and "put BYTES COUNT"; answers each
//                                                    with the microseconds of every connection, from connect() to the
//                                                    last byte of the answer.
//       --tls NAME          TLS, and the server must be NAME
//       --trust FILE        by these authorities; else by the system's (SSL_CERT_FILE)
//       --connect HOST:PORT ADDRESS and PORT are a proxy's, which is to reach this place
//       --host HOST         what the request says of it, when that is not "localhost"
//       --token VARIABLE    sends Authorization: Bearer and what the variable has
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

constexpr std::size_t kBuffer = 1 << 20;
constexpr int kServers = 4;
constexpr int kPatienceSeconds = 60;

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "bench_wire: %s: %s\n", what.c_str(), std::strerror(errno));
  ERR_print_errors_fp(stderr);
  std::_Exit(1);
}

std::size_t number(std::string_view text) {
  std::size_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// One end of a connection, with or without TLS.
class End {
 public:
  End(int fd, SSL_CTX* context) : fd_(fd), ssl_(context != nullptr ? SSL_new(context) : nullptr) {
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval patience{.tv_sec = kPatienceSeconds, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  ~End() {
    SSL_free(ssl_);
    ::close(fd_);
  }

  bool accept_tls() { return ssl_ == nullptr || (SSL_set_fd(ssl_, fd_) == 1 && SSL_accept(ssl_) == 1); }
  bool begin_tls(const std::string& name) {
    return SSL_set_fd(ssl_, fd_) == 1 && SSL_set_tlsext_host_name(ssl_, name.c_str()) == 1 &&
           SSL_set1_host(ssl_, name.c_str()) == 1 && SSL_connect(ssl_) == 1;
  }
  // More than 0, or the end.
  ssize_t read(char* to, std::size_t size) {
    return ssl_ != nullptr ? SSL_read(ssl_, to, static_cast<int>(size)) : ::recv(fd_, to, size, 0);
  }
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ssl_ != nullptr ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                                        : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  bool write_many(std::size_t size, std::string_view part) {
    for (; size > 0; size -= std::min(size, part.size())) {
      if (!write(part.substr(0, size))) return false;
    }
    return true;
  }

 private:
  int fd_;
  SSL* ssl_;
};

struct Message {
  std::string head;
  std::size_t body_seen = 0;
};

// Up to the end of the head, and what came of the body with it.
bool read_head(End& end, std::vector<char>& buffer, Message& message) {
  for (;;) {
    const ssize_t n = end.read(buffer.data(), buffer.size());
    if (n <= 0) return false;
    message.head.append(buffer.data(), static_cast<std::size_t>(n));
    if (const std::size_t at = message.head.find("\r\n\r\n"); at != std::string::npos) {
      message.body_seen = message.head.size() - at - 4;
      message.head.resize(at + 4);
      return true;
    }
  }
}

// The rest of a body of which `seen` bytes came with the head.
bool read_body(End& end, std::vector<char>& buffer, std::size_t size, std::size_t seen) {
  std::size_t left = size - std::min(size, seen);
  while (left > 0) {
    const ssize_t n = end.read(buffer.data(), buffer.size());
    if (n <= 0) return false;
    left -= std::min(left, static_cast<std::size_t>(n));
  }
  return true;
}

std::size_t length_in(const std::string& head) {
  for (const std::string_view name : {"Content-Length: ", "content-length: "}) {
    if (const std::size_t at = head.find(name); at != std::string::npos) {
      return number(std::string_view(head).substr(at + name.size()));
    }
  }
  return 0;
}

void answer(End& end, std::vector<char>& buffer, const std::string& part) {
  Message asked;
  if (!end.accept_tls() || !read_head(end, buffer, asked)) return;
  std::size_t size = 1;
  if (asked.head.starts_with("GET /")) {
    size = number(std::string_view(asked.head).substr(std::strlen("GET /")));
  } else if (!read_body(end, buffer, length_in(asked.head), asked.body_seen)) {
    return;
  }
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n";
  if (size <= 1) {
    (void)end.write(head + part.substr(0, size));
  } else if (end.write(head)) {
    (void)end.write_many(size, part);
  }
  (void)end.read(buffer.data(), buffer.size());  // the other side closes first
}

int listen_at(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || ::listen(fd, 128) != 0) give_up("listen");
  return fd;
}

void serve_forever(int listener, SSL_CTX* context) {
  std::vector<char> buffer(kBuffer);
  const std::string part(kBuffer, 'x');
  for (;;) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    End end(fd, context);
    answer(end, buffer, part);
  }
}

int serve(std::span<char*> words) {
  const Context context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (SSL_CTX_use_certificate_chain_file(context.get(), words[2]) != 1 ||
      SSL_CTX_use_PrivateKey_file(context.get(), words[3], SSL_FILETYPE_PEM) != 1) {
    give_up("the certificate");
  }
  const int plain = listen_at(static_cast<std::uint16_t>(number(words[0])));
  const int secure = listen_at(static_cast<std::uint16_t>(number(words[1])));
  std::vector<std::jthread> threads;
  for (int i = 0; i < kServers; ++i) {
    threads.emplace_back([plain] { serve_forever(plain, nullptr); });
    threads.emplace_back([secure, &context] { serve_forever(secure, context.get()); });
  }
  std::puts("ready");
  std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  std::_Exit(0);
}

class Asker {
 public:
  explicit Asker(std::span<char*> words) {
    at_.sin_family = AF_INET;
    ::inet_pton(AF_INET, words[0], &at_.sin_addr);
    at_.sin_port = htons(static_cast<std::uint16_t>(number(words[1])));
    std::string trust;
    for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
      const std::string_view option = words[i];
      if (option == "--tls") name_ = words[i + 1];
      if (option == "--trust") trust = words[i + 1];
      if (option == "--connect") proxied_ = words[i + 1];
      if (option == "--token") token_ = std::getenv(words[i + 1]);
      if (option == "--host") host_ = words[i + 1];
    }
    if (name_.empty()) return;
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    const int trusted = trust.empty() ? SSL_CTX_set_default_verify_paths(context_.get())
                                      : SSL_CTX_load_verify_file(context_.get(), trust.c_str());
    if (trusted != 1) give_up("the authorities");
  }

  double ask(const std::string& verb, std::size_t bytes) {
    const auto begin = Clock::now();
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&at_), sizeof at_) != 0) give_up("connect");
    End end(fd, context_.get());
    if (!proxied_.empty()) tunnel(fd);
    if (context_ && !end.begin_tls(name_)) give_up("TLS");
    const bool gets = verb == "get";
    std::string head = gets ? "GET /" + std::to_string(bytes) : std::string("POST /");
    head += " HTTP/1.1\r\nHost: " + host_ + "\r\n";
    if (!token_.empty()) head += "Authorization: Bearer " + token_ + "\r\n";
    if (!gets) head += "Content-Length: " + std::to_string(bytes) + "\r\n";
    if (!end.write(head + "\r\n")) give_up("the request");
    if (!gets && !end.write_many(bytes, part_)) give_up("the request's body");
    Message answer;
    const std::size_t wanted = gets ? bytes : 1;
    if (!read_head(end, buffer_, answer)) give_up("the answer");
    if (!answer.head.starts_with("HTTP/1.1 200") || length_in(answer.head) != wanted ||
        !read_body(end, buffer_, wanted, answer.body_seen)) {
      give_up("the answer is another one: " + answer.head);
    }
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }

 private:
  void tunnel(int fd) {
    const std::string head = "CONNECT " + proxied_ + " HTTP/1.1\r\nHost: " + proxied_ + "\r\n\r\n";
    std::string got;
    if (::send(fd, head.data(), head.size(), MSG_NOSIGNAL) < 0) give_up("CONNECT");
    while (!got.ends_with("\r\n\r\n")) {
      const ssize_t n = ::recv(fd, buffer_.data(), buffer_.size(), 0);
      if (n <= 0) give_up("the proxy's answer");
      got.append(buffer_.data(), static_cast<std::size_t>(n));
    }
    if (got.substr(8, 5) != " 200 ") give_up("the proxy's answer is another one: " + got);
  }

  sockaddr_in at_{};
  std::string name_;
  std::string proxied_;
  std::string token_;
  std::string host_ = "localhost";
  Context context_{nullptr, &SSL_CTX_free};
  std::vector<char> buffer_ = std::vector<char>(kBuffer);
  std::string part_ = std::string(kBuffer, 'x');
};

int ask(std::span<char*> words) {
  Asker asker(words);
  char verb[8];
  std::size_t bytes = 0;
  std::size_t count = 0;
  while (std::scanf("%7s %zu %zu", verb, &bytes, &count) == 3) {
    for (std::size_t i = 0; i < count; ++i) std::printf("%.1f ", asker.ask(verb, bytes));
    std::puts("");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  std::signal(SIGPIPE, SIG_IGN);
  if (words.size() == 6 && std::string_view(words[1]) == "serve") return serve(words.subspan(2));
  if (words.size() >= 4 && std::string_view(words[1]) == "ask") return ask(words.subspan(2));
  std::fputs("usage: bench_wire serve PORT TLS_PORT CERTIFICATE KEY | ask ADDRESS PORT [OPTION VALUE]...\n", stderr);
  return 2;
}
