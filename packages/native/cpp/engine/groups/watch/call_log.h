#pragma once

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/groups/process_group.h"

namespace acc {

// The last kCalls calls of this rank on one group, which other ranks may request. Any thread may
// call this class.
class CallLog {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kCalls = 32;

  struct Entry {
    // The number of the user's collective, from 1 and equal on every rank; 0 for other calls.
    int32_t number = 0;
    CollectiveKind kind = CollectiveKind::kBroadcast;
    // The other rank of a message; -1 for a collective.
    int peer = -1;
    // The position among the messages to, or from, the other rank, from 1. 0 for a collective.
    uint64_t place = 0;
    // True if the call cannot end before every rank that takes part has begun it.
    bool meets_all = false;
    std::array<int32_t, kCallWords> words{};
    Clock::time_point started;
    // The time at which the end was noticed. Unset before that.
    std::optional<Clock::time_point> ended;
    // Set while the rank's main thread waits for the call.
    std::optional<Clock::time_point> awaited;
    // Whether the device waits for the call, and the main thread does not.
    bool is_followed = false;
    // Counts the main thread's waits in this group. 0 if it has not waited for the call.
    uint64_t wait = 0;

    bool is_collective() const { return peer < 0; }
  };

  // The calls that the rank has begun on the group.
  struct Begun {
    // The number of the last collective of the user.
    int32_t number = 0;
    // The numbers of messages to and from each other rank.
    std::map<int, uint64_t> sent;
    std::map<int, uint64_t> received;
  };

  // Logs the start of a call. Returns a ticket for the other functions. `is_awaited`: the rank's
  // main thread waits for the call from now on.
  uint64_t begin(const CollectiveCall& call, bool is_awaited, bool meets_all);
  void begin_wait(uint64_t ticket);
  // The main thread goes on, and the device waits for the call until end().
  void follow(uint64_t ticket);
  // Ends the wait. The call itself may still be running.
  void end_wait(uint64_t ticket);
  // The call has ended.
  void end(uint64_t ticket);

  // The number of the user's last collective.
  int32_t last_number() const;
  Begun begun() const;

  // The entries of the latest calls, and before them those of older calls that the device still waits
  // for, oldest first.
  std::vector<Entry> entries() const;
  // The call that the rank's main thread, or its device, waits for: the oldest of them.
  std::optional<Entry> awaited() const;

  // One line per entry: number, kind, peer, milliseconds since its start, milliseconds since its
  // end or -1, milliseconds since the wait began or -1, words.
  std::string text() const;
  static std::vector<Entry> from_text(const std::string& text);

 private:
  // Null if newer calls have replaced the entry. `mutex_` is held.
  Entry* find(uint64_t ticket);
  // `mutex_` is held.
  void note_wait(uint64_t ticket, Entry& entry, Clock::time_point now);

  mutable std::mutex mutex_;
  std::array<Entry, kCalls> ring_;
  uint64_t tickets_ = 0;
  Begun begun_;
  uint64_t waits_ = 0;
  // Copies, because newer calls may replace the entries of calls that the device waits for.
  std::map<uint64_t, Entry> awaited_;
};

}  // namespace acc
