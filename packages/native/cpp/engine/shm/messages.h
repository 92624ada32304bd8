#pragma once

#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/shm/ranks.h"

namespace acc::shm {

// Messages from one rank to one other, through two blocks for each pair that are filled and emptied in turn. Those of one
// pair and direction go in the order in which they were started; all others go on side by side, so that ranks which send
// to each other at once don't wait for ever.
class Messages {
 public:
  struct Message {
    int peer;
    bool is_sent;
    uint8_t* data;
    size_t bytes;
    // Keeps the memory alive.
    std::shared_ptr<void> owner;
    size_t done = 0;
    bool is_done = false;
    // Why it never will be.
    std::exception_ptr error = {};
    // When somebody asked for it first, and last looked whether it can still come.
    std::optional<std::chrono::steady_clock::time_point> asked = {};
    std::chrono::steady_clock::time_point looked = {};
  };

  explicit Messages(Ranks& ranks);

  std::shared_ptr<Message> send(int peer, const void* data, size_t bytes, std::shared_ptr<void> owner);
  std::shared_ptr<Message> receive(int peer, void* data, size_t bytes, std::shared_ptr<void> owner);

  // Moves what can be moved at once.
  void advance();
  // Also where it has failed, which `wait` then throws.
  bool is_done(const std::shared_ptr<Message>& message);
  void wait(const std::shared_ptr<Message>& message);

 private:
  std::shared_ptr<Message> start(Message message);
  // False when nothing more can be moved now.
  bool advance_one(Message& message);
  void look_after(Message& message);
  std::deque<std::shared_ptr<Message>>& line_of(int peer, bool is_sent) { return lines_[2 * peer + (is_sent ? 1 : 0)]; }

  Ranks& ranks_;
  std::mutex mutex_;
  SharedWriter writer_;
  std::vector<std::deque<std::shared_ptr<Message>>> lines_;
};

}  // namespace acc::shm
