#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

namespace acc {

enum class BlockKind : uint8_t {
  kSmall,  // belongs to a size class
  kHeap,   // belongs to a segment of the heap, with neighbours
  kArena,  // lies where a plan has put it
};

// The header in front of every block. Its size keeps the memory behind it aligned to 64 bytes.
struct alignas(64) Block {
  size_t bytes;         // of the memory behind this header
  Block* before;        // neighbours in the segment; null at its ends
  Block* after;
  bool is_free;
  BlockKind kind;
  uint8_t owner = 0;    // see MemoryOwners
  // The number of the trace that waits for its release, and its index there. 0: none.
  uint64_t trace = 0;
  size_t index = 0;
  // Of a free block: how many of its bytes the system has back. They are cleared on the next use.
  size_t returned = 0;
  void* data() { return this + 1; }
  static Block* of(void* data) { return static_cast<Block*>(data) - 1; }
};

// Allocates large blocks by best fit, from segments that the system provides. A block that is too
// large is split, and free neighbours are merged, so sizes that change from step to step do not
// fragment the memory. Not thread-safe.
class BlockHeap {
 public:
  // Returns null if the system has no more memory.
  Block* take(size_t bytes);
  void give_back(Block* block);
  // Returns unused segments to the system until at most `limit` bytes are reserved.
  void trim(size_t limit);
  // Returns the pages of free blocks in segments that are partly in use.
  void return_pages();
  size_t reserved() const { return reserved_; }

 private:
  Block* new_segment(size_t bytes);
  void return_pages_of(Block* block);
  void split(Block* block, size_t bytes);
  void join_with_next(Block* block);
  void insert(Block* block) { free_.emplace(block->bytes, block); }
  void remove(Block* block) { free_.erase({block->bytes, block}); }

  std::set<std::pair<size_t, Block*>> free_;
  size_t reserved_ = 0;
};

}  // namespace acc
