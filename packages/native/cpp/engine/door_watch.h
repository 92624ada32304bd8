#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>

#include "engine/sockets.h"

namespace acc {

// Limits what strangers can make c10d's TCPStore keep before all ranks have joined: it asks nobody for
// a proof. Ends connections that say nothing, that send more than a rank sends while it joins, and the newest
// of too many; refuses newcomers after many of them. Linux only; does nothing elsewhere.
class DoorWatch {
 public:
  // `listener` is the store's. It stays open while the watch exists.
  DoorWatch(int listener, int world_size);
  ~DoorWatch();
  DoorWatch(const DoorWatch&) = delete;
  DoorWatch& operator=(const DoorWatch&) = delete;

  // The number of connections that were ended.
  int ended() const;

 private:
  using Clock = std::chrono::steady_clock;

  void watch();
  void look();
  void end(int fd, uint64_t received);

  const int listener_;
  const size_t most_;
  // When each connection was first seen, by the number of its socket.
  std::map<uint64_t, Clock::time_point> since_;
  // By connections that were ended.
  uint64_t received_ = 0;
  int ended_ = 0;
  bool is_over_ = false;
  mutable std::mutex mutex_;
  std::condition_variable over_;
  std::thread thread_;
};

}  // namespace acc
