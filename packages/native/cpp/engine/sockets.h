#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace acc {

// A file descriptor that is closed with its owner.
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

// c10d and Gloo keep their sockets to themselves. They are found among those of the process: the ones that were not there
// before. What is done here to a socket is done to theirs, since a duplicate of a descriptor is the same socket.
class NewSockets {
 public:
  // Remembers the sockets that there are now.
  NewSockets();
  // Duplicates of the TCP sockets that have come since, from whatever thread.
  std::vector<Fd> take() const;

 private:
  std::set<uint64_t> before_;
};

Fd duplicate_of(int fd);
bool is_listening(int fd);
// `10.0.0.1:80` or `[fd00::1]:80`; empty where there is none.
std::string local_end(int fd);
std::string remote_end(int fd);

// From now on nobody can connect to a listening socket: who tries gets no answer. Connections that were made stay. Linux.
void refuse_newcomers(int listener);

// Receiving fails when nothing has come for so long.
void limit_receiving(int fd, std::chrono::milliseconds timeout);

// Lets the kernel ask an idle connection's other side every second whether it is there.
void ask_when_idle(int fd);

enum class LinkState { kOpen, kClosed, kDoubtful, kSilent };

// Whether the other side of a connection has closed it, or its host has not answered for kSilence, or for kDoubt, though asked.
// A process that only stands still is answered for by its host. Linux; elsewhere kOpen.
LinkState state_of(int fd);
inline constexpr std::chrono::milliseconds kSilence(5000);
inline constexpr std::chrono::milliseconds kDoubt(1500);

// Bytes that went either way and arrived.
uint64_t traffic_of(int fd);

}  // namespace acc
