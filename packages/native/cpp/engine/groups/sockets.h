#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace acc {

// A file descriptor that its owner closes on destruction.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    reset();
    fd_ = other.release();
    return *this;
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

// Finds the sockets of c10d and Gloo, which do not expose them: they are the sockets of the process
// that did not exist before. A duplicate of a descriptor refers to the same socket, so an operation
// on the duplicate affects the original.
class NewSockets {
 public:
  // Records the sockets that exist now.
  NewSockets();
  // Duplicates of the TCP sockets that were created since, by any thread.
  std::vector<Fd> take() const;

 private:
  std::set<uint64_t> before_;
};

// Calls `visit` for each connection that a listening socket of this process has accepted, with a
// descriptor that is valid during the call, and the number of the socket. Returns false if it may have
// missed one, because the process has no descriptor left.
bool for_each_accepted(int listener, const std::function<void(int fd, uint64_t number)>& visit);

Fd duplicate_of(int fd);
bool is_listening(int fd);
// `10.0.0.1:80` or `[fd00::1]:80`; empty if the socket has no such address.
std::string local_end(int fd);
std::string remote_end(int fd);
// The end without its port.
std::string address_of(const std::string& end);

// Makes a listening socket drop all new connection attempts, without an answer. Existing
// connections stay. Linux only.
void refuse_newcomers(int listener);

// Makes a receive fail when nothing arrives for `timeout`.
void limit_receiving(int fd, std::chrono::milliseconds timeout);

// Makes the kernel probe an idle connection every second (TCP keep-alive). Linux only.
void ask_when_idle(int fd);

enum class LinkState { kOpen, kClosed, kDoubtful, kSilent };

// The state of a connection. kClosed: the other side closed it. kSilent: the other host has not
// answered a probe or data for longer than `silence`, which is at least two seconds: an idle
// connection is probed each second. kDoubtful: the same for kDoubt. A host still answers for a
// process that is merely stopped. Linux only; always kOpen elsewhere.
LinkState state_of(int fd, std::chrono::milliseconds silence);
inline constexpr std::chrono::milliseconds kDoubt(1500);

struct Received {
  uint64_t bytes = 0;
  uint64_t packets = 0;
};

// The numbers of bytes, and of packets with bytes, that a connection has received. Linux only; 0
// elsewhere, and if the kernel does not count them.
Received received_by(int fd);

// The number of bytes sent and acknowledged, plus the number of bytes received.
uint64_t traffic_of(int fd);

}  // namespace acc
