#pragma once

#include <array>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/process_group.h"

namespace acc {

// The last calls of a rank on a group, as others may ask for them. Any thread.
class CallLog {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kCalls = 32;

  struct Entry {
    // Of the user's collectives, from 1, alike on every rank; 0 for what is none.
    int32_t number = 0;
    CollectiveKind kind = CollectiveKind::kBroadcast;
    // The other rank of a message, -1 of collectives.
    int peer = -1;
    std::array<int32_t, kCallWords> words{};
    Clock::time_point started;
    // Unset while it goes on, or until somebody sees that it has ended.
    std::optional<Clock::time_point> ended;
    // Set while the rank's own thread waits for it.
    std::optional<Clock::time_point> awaited;
  };

  // Gives what the others take. `is_awaited`: the rank's own thread waits for it from now on.
  uint64_t begin(const CollectiveCall& call, bool is_awaited);
  void begin_wait(uint64_t ticket);
  // The call may go on.
  void end_wait(uint64_t ticket);
  // It has ended.
  void end(uint64_t ticket);

  // Of the last of the user's collectives.
  int32_t last_number() const;

  // Oldest first.
  std::vector<Entry> entries() const;
  // What the rank's own thread waits for.
  std::optional<Entry> awaited() const;

  // A line for each entry: number, kind, peer, milliseconds since its start, since its end or -1, since the wait for it began
  // or -1, words.
  std::string text() const;
  static std::vector<Entry> from_text(const std::string& text);

 private:
  // Null where newer calls have taken its place.
  Entry* find(uint64_t ticket);

  mutable std::mutex mutex_;
  std::array<Entry, kCalls> ring_;
  uint64_t tickets_ = 0;
  int32_t last_number_ = 0;
  std::optional<uint64_t> awaited_;
};

}  // namespace acc
