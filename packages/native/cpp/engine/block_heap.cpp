#include "engine/block_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "engine/address_sanitizer.h"

namespace acc {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMinSegment = size_t{32} << 20;
constexpr size_t kGrain = 4096;
// A remainder smaller than this stays part of its block.
constexpr size_t kMinRest = size_t{64} << 10;

size_t round_up(size_t bytes, size_t grain) { return (bytes + grain - 1) / grain * grain; }

bool is_whole_segment(const Block* block) { return block->before == nullptr && block->after == nullptr; }

}  // namespace

Block* BlockHeap::take(size_t wanted) {
  const size_t bytes = round_up(wanted, kGrain);
  const auto found = free_.lower_bound({bytes, nullptr});
  Block* block = nullptr;
  if (found != free_.end()) {
    block = found->second;
    free_.erase(found);
  } else {
    block = new_segment(bytes);
    if (block == nullptr) return nullptr;
  }
  split(block, bytes);
  block->is_free = false;
  return block;
}

void BlockHeap::give_back(Block* block) {
  block->is_free = true;
  if (block->after != nullptr && block->after->is_free) {
    remove(block->after);
    join_with_next(block);
  }
  if (block->before != nullptr && block->before->is_free) {
    block = block->before;
    remove(block);
    join_with_next(block);
  }
  insert(block);
}

void BlockHeap::trim(size_t limit) {
  for (auto entry = free_.rbegin(); entry != free_.rend() && reserved_ > limit;) {
    Block* block = entry->second;
    if (!is_whole_segment(block)) {
      ++entry;
      continue;
    }
    reserved_ -= block->bytes + sizeof(Block);
    entry = std::make_reverse_iterator(free_.erase(std::next(entry).base()));
    std::free(block);
  }
}

Block* BlockHeap::new_segment(size_t bytes) {
  const size_t total = round_up(std::max(bytes + sizeof(Block), kMinSegment), kHugePage);
  void* memory = nullptr;
  if (posix_memalign(&memory, kHugePage, total) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
  madvise(memory, total, MADV_HUGEPAGE);
#endif
  reserved_ += total;
  return new (memory) Block{total - sizeof(Block), nullptr, nullptr, true, false};
}

void BlockHeap::split(Block* block, size_t bytes) {
  if (block->bytes < bytes + sizeof(Block) + kMinRest) return;
  void* place = static_cast<char*>(block->data()) + bytes;
  allow_access(place, sizeof(Block));
  Block* rest = new (place) Block{block->bytes - bytes - sizeof(Block), block, block->after, true, false};
  if (rest->after != nullptr) rest->after->before = rest;
  block->after = rest;
  block->bytes = bytes;
  insert(rest);
}

void BlockHeap::join_with_next(Block* block) {
  const Block* next = block->after;
  block->bytes += sizeof(Block) + next->bytes;
  block->after = next->after;
  if (block->after != nullptr) block->after->before = block;
}

}  // namespace acc
