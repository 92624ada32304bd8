#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/groups/sockets.h"

namespace acc {

// The work of a DoorWatch.
struct DoorReport {
  // The number of connections that it ended.
  int ended = 0;
  // Whether it has refused newcomers, because too much was sent.
  bool is_full = false;
};

// Limits what strangers can make c10d's TCPStore keep before all ranks have joined: the store asks nobody
// for a proof. Ends connections that send nothing, that send more than a rank sends while it joins, or
// that are too many. Refuses newcomers once all connections together, also those that are closed, have sent
// too much. Linux only; does nothing elsewhere.
class DoorWatch {
 public:
  // `listener` is the store's. It stays open while the watch exists.
  DoorWatch(int listener, int world_size);
  ~DoorWatch();
  DoorWatch(const DoorWatch&) = delete;
  DoorWatch& operator=(const DoorWatch&) = delete;

  // Ends the watch. Returns what it did.
  DoorReport end();

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    Clock::time_point since;
    std::string address;
    Received received;
    bool must_end = false;
    bool is_ended = false;
    // The last look that saw it.
    uint64_t look = 0;
  };

  void watch();
  void look();
  // Ends the connections that may not stay.
  void end_strangers(Clock::time_point now);
  // Chooses which of `open` must end because they are too many: first those that sent nothing, the
  // oldest first, then those of the address that has most, the newest first.
  void choose_superfluous(std::vector<Connection*> open);
  bool breaks_limit(const Connection& connection, Clock::time_point now) const;
  bool is_silent(const Connection& connection) const;
  uint64_t bytes_of_rank(Clock::time_point since, Clock::time_point now) const;

  const int listener_;
  const uint64_t ranks_;
  const Clock::time_point start_ = Clock::now();
  // By the numbers of their sockets.
  std::map<uint64_t, Connection> connections_;
  // Received by connections that are gone.
  uint64_t bytes_of_gone_ = 0;
  // Whether the kernel counts what a connection receives.
  bool has_counts_ = false;
  uint64_t looks_ = 0;
  DoorReport report_;
  bool is_over_ = false;
  std::mutex mutex_;
  std::condition_variable over_;
  std::thread thread_;
};

}  // namespace acc
