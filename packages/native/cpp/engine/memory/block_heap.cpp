#include "engine/memory/block_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "engine/memory/address_sanitizer.h"
#include "engine/memory/huge_pages.h"

namespace acc {
namespace {

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
  const bool was_returned = block->returned > 0;
  reserved_ += std::exchange(block->returned, 0);
  split(block, bytes);
  if (was_returned && block->after != nullptr && block->after->is_free) return_pages_of(block->after);
  block->is_free = false;
  return block;
}

void BlockHeap::return_pages() {
  for (const auto& entry : free_) return_pages_of(entry.second);
}

void BlockHeap::return_pages_of(Block* block) {
  const auto begin = round_up(reinterpret_cast<size_t>(block->data()), kGrain);
  const auto end = (reinterpret_cast<size_t>(block->data()) + block->bytes) / kGrain * kGrain;
  if (begin >= end || block->returned == end - begin) return;
  if (madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) != 0) return;
  reserved_ += block->returned;
  block->returned = end - begin;
  reserved_ -= block->returned;
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
    reserved_ -= block->bytes + sizeof(Block) - block->returned;
    entry = std::make_reverse_iterator(free_.erase(std::next(entry).base()));
    give_huge_pages_back(block);
  }
}

Block* BlockHeap::new_segment(size_t bytes) {
  size_t total = std::max(bytes + sizeof(Block), kMinSegment);
  void* memory = take_huge_pages(total);
  if (memory == nullptr) return nullptr;
  reserved_ += total;
  return new (memory) Block{total - sizeof(Block), nullptr, nullptr, true, BlockKind::kHeap};
}

void BlockHeap::split(Block* block, size_t bytes) {
  if (block->bytes < bytes + sizeof(Block) + kMinRest) return;
  void* place = static_cast<char*>(block->data()) + bytes;
  allow_access(place, sizeof(Block));
  Block* rest = new (place) Block{block->bytes - bytes - sizeof(Block), block, block->after, true, BlockKind::kHeap};
  if (rest->after != nullptr) rest->after->before = rest;
  block->after = rest;
  block->bytes = bytes;
  insert(rest);
}

void BlockHeap::join_with_next(Block* block) {
  const Block* next = block->after;
  block->bytes += sizeof(Block) + next->bytes;
  block->returned += next->returned;
  block->after = next->after;
  if (block->after != nullptr) block->after->before = block;
}

}  // namespace acc
