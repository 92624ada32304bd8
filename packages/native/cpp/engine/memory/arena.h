#pragma once

#include <cstddef>
#include <map>

#include "engine/memory/block_heap.h"

namespace acc {

// One range of memory in which replays of recorded steps put large blocks at places that were
// planned for them. All recordings share it. Not thread-safe.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { release(); }

  // Makes the arena at least this large. Returns false if that is impossible: the system has no
  // more memory, or blocks are in use and it would have to move.
  bool reserve(size_t bytes);
  // A block with `bytes` of memory whose header is at `place`. Returns null if a part of it is in
  // use or lies outside of the arena.
  Block* take(size_t place, size_t bytes);
  void give_back(const Block* block);
  // Returns the memory to the system, unless blocks are in use.
  void release();
  bool is_used() const { return !ends_.empty(); }
  size_t reserved() const { return reserved_; }

 private:
  char* memory_ = nullptr;
  size_t reserved_ = 0;
  // The end of each block in use, by its place.
  std::map<size_t, size_t> ends_;
};

}  // namespace acc
