#pragma once

#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/groups/shm/ranks.h"

namespace acc::shm {

// Point-to-point messages. Each ordered pair of ranks has blocks, which the sender fills and the
// receiver empties. The sender fills the first block that is free, so a receiver that keeps up costs
// the memory and the cache lines of one or two. Messages of one pair and direction are moved in the
// order in which they were started. All other messages make progress independently, so ranks that send to each
// other at the same time do not deadlock.
class Messages {
 public:
  struct Message {
    int peer;
    bool is_sent;
    uint8_t* data;
    size_t bytes;
    // Keeps the memory at `data` alive until the message is done.
    std::shared_ptr<void> owner;
    size_t done = 0;
    bool is_done = false;
    // Set when the message has failed: it will never be done.
    std::exception_ptr error = {};
    // `asked` is the time of the first question whether the message is done. `looked` is the time
    // of the last check that the peer can still answer.
    std::optional<std::chrono::steady_clock::time_point> asked = {};
    std::chrono::steady_clock::time_point looked = {};
  };

  explicit Messages(Ranks& ranks);

  std::shared_ptr<Message> send(int peer, const void* data, size_t bytes, std::shared_ptr<void> owner);
  std::shared_ptr<Message> receive(int peer, void* data, size_t bytes, std::shared_ptr<void> owner);

  // Moves all bytes that can be moved without waiting.
  void advance();
  // True also for a message that has failed; `wait` then throws its error.
  bool is_done(const std::shared_ptr<Message>& message);
  void wait(const std::shared_ptr<Message>& message);

 private:
  std::shared_ptr<Message> start(Message message);
  // As advance(); the caller holds the mutex.
  void advance_lines();
  // Moves what can be moved. Returns true when the message is complete.
  bool advance_one(Message& message);
  // The first block of the channel to `peer` that is free, once `taken` blocks are emptied. There is one.
  uint32_t free_place(int peer, uint32_t taken);
  void look_after(Message& message);
  std::deque<std::shared_ptr<Message>>& line_of(int peer, bool is_sent) { return lines_[2 * peer + (is_sent ? 1 : 0)]; }

  Ranks& ranks_;
  std::mutex mutex_;
  SharedWriter writer_;
  std::vector<std::deque<std::shared_ptr<Message>>> lines_;
  // What this rank knows of its channel to each peer: a bit for each filled block, and how many
  // emptied ones it has cleared there.
  struct Sent {
    uint64_t filled = 0;
    uint32_t cleared = 0;
  };
  static_assert(kChannelBlocks == 64, "Sent::filled has a bit for each block");
  std::vector<Sent> sent_;
};

}  // namespace acc::shm
