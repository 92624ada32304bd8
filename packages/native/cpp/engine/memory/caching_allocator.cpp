#include "engine/memory/caching_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <vector>

#include "engine/memory/address_sanitizer.h"
#include "engine/memory/block_heap.h"
#include "engine/memory/replay_memory.h"

namespace acc {
namespace {

// Smaller blocks are kept by size class. Blocks of this size or more are in the heap.
constexpr size_t kLarge = size_t{64} << 10;
constexpr size_t kSteps = 8;
// Unused segments go back to the system while the heap exceeds the peak use of tensors by more than
// the slack, which starts with this many bytes.
constexpr size_t kSlack = size_t{256} << 20;

// Size classes of small blocks: multiples of 64 bytes up to 512 bytes, then eight classes per
// doubling, of which at most 12.5 % is unused.
struct SizeClass {
  size_t index;
  size_t bytes;
};

SizeClass size_class(size_t bytes) {
  if (bytes <= 512) {
    const size_t index = (bytes + 63) / 64;
    return {index, index * 64};
  }
  const size_t floor = std::bit_floor(bytes - 1);
  const size_t step = floor / kSteps;
  const size_t count = (bytes + step - 1) / step;
  const auto doubling = static_cast<size_t>(std::countr_zero(floor)) - 9;
  return {9 + doubling * kSteps + count - kSteps - 1, count * step};
}

class CachingAllocator final : public c10::Allocator {
 public:
  static CachingAllocator& instance() {
    // Never destroyed, because tensors may outlive static destructors.
    static auto* allocator = new CachingAllocator();
    return *allocator;
  }

  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device device(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, nullptr, &CachingAllocator::release, device};
    void* data = take(bytes)->data();
    return {data, data, &CachingAllocator::release, device};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &CachingAllocator::release; }

  void copy_data(void* destination, const void* source, size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }

  MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    return {allocated_, peak_, static_cast<int64_t>(heap_.reserved() + arena_.reserved() + small_reserved_), allocations_};
  }

  void reset_peak() {
    const std::lock_guard lock(mutex_);
    peak_ = allocated_;
    at_peak_ = by_owner_;
  }

  MemoryOwners owners() {
    const std::lock_guard lock(mutex_);
    return {by_owner_, at_peak_};
  }

  void set_owner(uint8_t owner) {
    const std::lock_guard lock(mutex_);
    owner_ = owner;
  }

  void give(const at::Tensor& tensor, uint8_t owner) {
    if (!tensor.has_storage()) return;
    const auto& data = tensor.storage().data_ptr();
    if (data.get() == nullptr || data.get_deleter() != &CachingAllocator::release) return;
    const std::lock_guard lock(mutex_);
    Block* block = Block::of(data.get());
    by_owner_[block->owner] -= static_cast<int64_t>(block->bytes);
    by_owner_[owner] += static_cast<int64_t>(block->bytes);
    block->owner = owner;
  }

  void release_cached() {
    const std::lock_guard lock(mutex_);
    release_unused();
    arena_.release();
    for (auto& blocks : small_) {
      for (Block* block : blocks) {
        small_reserved_ -= block->bytes;
        std::free(block);
      }
      blocks.clear();
    }
  }

  LockedAllocator locked() { return {std::unique_lock(mutex_), arena_}; }

  bool reserve_arena(size_t bytes) {
    if (bytes > arena_.reserved()) release_unused();
    return arena_.reserve(bytes);
  }

 private:
  CachingAllocator() : small_(size_class(kLarge).index + 1) {}

  static void release(void* data) {
    if (data != nullptr) instance().give_back(Block::of(data));
  }

  Block* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    Block* block = bytes < kLarge ? take_small(size_class(bytes)) : take_large(bytes);
    allocated_ += static_cast<int64_t>(block->bytes);
    block->owner = owner_;
    by_owner_[owner_] += static_cast<int64_t>(block->bytes);
    if (allocated_ > peak_) {
      peak_ = allocated_;
      at_peak_ = by_owner_;
    }
    ++allocations_;
    // The bytes added by rounding up stay forbidden.
    forbid_access(block->data(), block->bytes);
    allow_access(block->data(), bytes);
    return block;
  }

  void give_back(Block* block) {
    const std::lock_guard lock(mutex_);
    allocated_ -= static_cast<int64_t>(block->bytes);
    by_owner_[block->owner] -= static_cast<int64_t>(block->bytes);
    forbid_access(block->data(), block->bytes);
    if (block->kind == BlockKind::kSmall) {
      small_[size_class(block->bytes).index].push_back(block);
      return;
    }
    ReplayMemory::note_release(*block);
    if (block->kind == BlockKind::kArena) {
      arena_.give_back(block);
      return;
    }
    heap_.give_back(block);
    const size_t reserved = heap_.reserved();
    const size_t limit = static_cast<size_t>(peak_) + slack_;
    if (reserved <= limit) return;
    heap_.trim(limit);
    trimmed_ += reserved - heap_.reserved();
  }

  // The system clears every page that it hands out. If a step needs segments again that were
  // returned, the slack grows by their size, up to the peak use of tensors, and later steps keep
  // them.
  void grow_slack(size_t bytes) {
    const size_t again = std::min(bytes, trimmed_);
    trimmed_ -= again;
    slack_ = std::max(slack_, std::min(slack_ + again, static_cast<size_t>(peak_)));
  }

  Block* take_small(SizeClass wanted) {
    auto& kept = small_[wanted.index];
    if (!kept.empty()) {
      Block* block = kept.back();
      kept.pop_back();
      return block;
    }
    void* memory = nullptr;
    if (posix_memalign(&memory, alignof(Block), sizeof(Block) + wanted.bytes) != 0) out_of_memory(wanted.bytes);
    small_reserved_ += wanted.bytes;
    return new (memory) Block{wanted.bytes, nullptr, nullptr, false, BlockKind::kSmall};
  }

  Block* take_large(size_t bytes) {
    // Larger sizes would overflow when the header and rounding are added.
    if (bytes > std::numeric_limits<size_t>::max() / 2) out_of_memory(bytes);
    auto* replay = ReplayMemory::of_thread();
    if (replay != nullptr) {
      bytes = (bytes + alignof(Block) - 1) / alignof(Block) * alignof(Block);
      const auto place = replay->next_place(sizeof(Block) + bytes);
      auto* planned = place < 0 ? nullptr : arena_.take(static_cast<size_t>(place), bytes);
      if (planned != nullptr) return planned;
    }
    Block* block = take_from_heap(bytes);
    block->trace = 0;
    if (replay != nullptr) replay->note_allocation(*block, sizeof(Block) + bytes);
    return block;
  }

  Block* take_from_heap(size_t bytes) {
    const size_t reserved = heap_.reserved();
    Block* block = heap_.take(bytes);
    if (block == nullptr) {
      release_unused();
      block = heap_.take(bytes);
    } else {
      grow_slack(heap_.reserved() - reserved);
    }
    if (block == nullptr) out_of_memory(bytes);
    return block;
  }

  // Returns all unused pages to the system, and does not expect them to be needed again.
  void release_unused() {
    heap_.trim(0);
    heap_.return_pages();
    slack_ = kSlack;
    trimmed_ = 0;
  }

  [[noreturn]] void out_of_memory(size_t bytes) const {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "Out of memory: ", bytes,
                     " bytes of CPU memory were requested, and tensors use ", allocated_, " bytes.");
    std::abort();  // not reached: the check throws
  }

  std::mutex mutex_;
  std::vector<std::vector<Block*>> small_;
  BlockHeap heap_;
  Arena arena_;
  size_t slack_ = kSlack;
  size_t trimmed_ = 0;  // bytes that went back to the system and were not needed again
  size_t small_reserved_ = 0;
  int64_t allocated_ = 0;
  int64_t peak_ = 0;
  int64_t allocations_ = 0;
  uint8_t owner_ = 0;
  BytesByOwner by_owner_{};
  BytesByOwner at_peak_{};
};

}  // namespace

void install_caching_allocator() { c10::SetCPUAllocator(&CachingAllocator::instance(), 1); }
MemoryStats memory_stats() { return CachingAllocator::instance().stats(); }
void reset_peak_memory() { CachingAllocator::instance().reset_peak(); }
void release_cached_memory() { CachingAllocator::instance().release_cached(); }
MemoryOwners memory_owners() { return CachingAllocator::instance().owners(); }
void set_memory_owner(uint8_t owner) { CachingAllocator::instance().set_owner(owner); }
void give_memory(const at::Tensor& tensor, uint8_t owner) { CachingAllocator::instance().give(tensor, owner); }


LockedAllocator lock_allocator() { return CachingAllocator::instance().locked(); }
bool LockedAllocator::reserve_arena(size_t bytes) { return CachingAllocator::instance().reserve_arena(bytes); }

}  // namespace acc
