#include "engine/door_watch.h"

#include <sys/socket.h>

#include <utility>
#include <vector>

namespace acc {
namespace {

constexpr std::chrono::milliseconds kLookPause(10);
// A rank that joins sends a few KiB. A job of many hosts may join for a long time.
constexpr uint64_t kMostBytes = 4 << 20;
constexpr uint64_t kMoreBytesEachSecond = 64 << 10;
// Of all connections that were ended. What they sent stays in the store.
constexpr uint64_t kMostBytesOfStrangers = 256 << 20;
// A rank has two connections at the same time, and may connect again.
constexpr size_t kConnectionsOfRank = 4;
constexpr size_t kMoreConnections = 256;
// A rank speaks as soon as it is connected.
constexpr std::chrono::seconds kSilence(10);

uint64_t allowed_after(std::chrono::steady_clock::duration time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  return kMostBytes + kMoreBytesEachSecond * static_cast<uint64_t>(seconds);
}

}  // namespace

DoorWatch::DoorWatch(int listener, int world_size)
    : listener_(listener), most_(kConnectionsOfRank * static_cast<size_t>(world_size) + kMoreConnections) {
#ifdef __linux__
  thread_ = std::thread([this] { watch(); });
#endif
}

DoorWatch::~DoorWatch() {
  {
    const std::lock_guard guard(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
}

int DoorWatch::ended() const {
  const std::lock_guard guard(mutex_);
  return ended_;
}

void DoorWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, kLookPause, [this] { return is_over_; })) look();
}

void DoorWatch::look() {
  const auto now = Clock::now();
  const auto sockets = accepted_by(listener_);
  std::map<uint64_t, Clock::time_point> since;
  // Those that have been there longer stay.
  for (const bool is_known : {true, false}) {
    for (const auto& [number, socket] : sockets) {
      const auto known = since_.find(number);
      if ((known != since_.end()) != is_known) continue;
      const auto begin = is_known ? known->second : now;
      const auto received = received_by(socket.get());
      const bool is_silent = received == 0 && now - begin > kSilence;
      if (is_silent || received > allowed_after(now - begin) || since.size() >= most_) {
        end(socket.get(), received);
      } else {
        since.emplace(number, begin);
      }
    }
  }
  since_ = std::move(since);
}

void DoorWatch::end(int fd, uint64_t received) {
  ::shutdown(fd, SHUT_RDWR);
  ++ended_;
  received_ += received;
  if (received_ > kMostBytesOfStrangers) refuse_newcomers(listener_);
}

}  // namespace acc
