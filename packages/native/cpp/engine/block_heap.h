#pragma once

#include <cstddef>
#include <set>
#include <utility>

namespace acc {

// Stands in front of every block; its size keeps the block behind it aligned.
struct alignas(64) Block {
  size_t bytes;         // behind this header
  Block* before;        // neighbours in the segment; null at its ends
  Block* after;
  bool is_free;
  bool is_small;        // of a size class; it has no neighbours
  void* data() { return this + 1; }
  static Block* of(void* data) { return static_cast<Block*>(data) - 1; }
};

// Large blocks: best fit in segments that come from the system. A block that is too large is split, free neighbours are
// joined, so that sizes which change from step to step do not eat up memory. Not thread-safe.
class BlockHeap {
 public:
  // Null when the system has no more memory.
  Block* take(size_t bytes);
  void give_back(Block* block);
  // Returns segments in which nothing is used to the system until at most `limit` bytes are reserved.
  void trim(size_t limit);
  size_t reserved() const { return reserved_; }

 private:
  Block* new_segment(size_t bytes);
  void split(Block* block, size_t bytes);
  void join_with_next(Block* block);
  void insert(Block* block) { free_.emplace(block->bytes, block); }
  void remove(Block* block) { free_.erase({block->bytes, block}); }

  std::set<std::pair<size_t, Block*>> free_;
  size_t reserved_ = 0;
};

}  // namespace acc
