#include "engine/caching_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace acc {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
// Blocks kept for reuse never exceed the most that tensors have used, or this.
constexpr int64_t kMinCacheBytes = int64_t{256} << 20;

// Stands in front of every block; its size keeps the block aligned.
struct alignas(kAlignment) Header {
  size_t block_bytes;
};

// Eight classes a doubling: at most 12.5 % of a block is unused.
size_t size_class(size_t bytes) {
  if (bytes <= 512) return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

class CachingAllocator final : public c10::Allocator {
 public:
  static CachingAllocator& instance() {
    // Never destroyed: tensors may outlive static destructors.
    static auto* allocator = new CachingAllocator();
    return *allocator;
  }

  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device device(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, nullptr, &CachingAllocator::release, device};
    void* data = take(size_class(bytes));
    return {data, data, &CachingAllocator::release, device};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &CachingAllocator::release; }

  void copy_data(void* destination, const void* source, size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }

  MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    return {allocated_, peak_, allocated_ + cached_, allocations_};
  }

  void reset_peak() {
    const std::lock_guard lock(mutex_);
    peak_ = allocated_;
  }

  void release_cached() {
    const std::lock_guard lock(mutex_);
    trim(0);
  }

 private:
  static void release(void* data) {
    if (data != nullptr) instance().give_back(static_cast<Header*>(data) - 1);
  }

  void* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    Header* header = nullptr;
    auto kept = free_.find(bytes);
    if (kept != free_.end() && !kept->second.empty()) {
      header = kept->second.back();
      kept->second.pop_back();
      cached_ -= static_cast<int64_t>(bytes);
    } else {
      header = from_system(bytes);
    }
    header->block_bytes = bytes;
    allocated_ += static_cast<int64_t>(bytes);
    peak_ = std::max(peak_, allocated_);
    ++allocations_;
    return header + 1;
  }

  void give_back(Header* header) {
    const std::lock_guard lock(mutex_);
    const auto bytes = static_cast<int64_t>(header->block_bytes);
    allocated_ -= bytes;
    free_[header->block_bytes].push_back(header);
    cached_ += bytes;
    const int64_t limit = std::max(kMinCacheBytes, peak_ - allocated_);
    if (cached_ > limit) trim(limit);
  }

  Header* from_system(size_t bytes) {
    const size_t total = bytes + sizeof(Header);
    const bool huge = total >= kHugePage;
    const size_t alignment = huge ? kHugePage : kAlignment;
    void* block = nullptr;
    if (posix_memalign(&block, alignment, total) != 0) {
      trim(0);
      if (posix_memalign(&block, alignment, total) != 0) {
        TORCH_CHECK_WITH(OutOfMemoryError, false, "out of memory: tried to allocate ", bytes,
                         " bytes of CPU memory; tensors use ", allocated_, " bytes");
      }
    }
#ifdef MADV_HUGEPAGE
    if (huge) madvise(block, total, MADV_HUGEPAGE);
#endif
    return static_cast<Header*>(block);
  }

  // Frees kept blocks, largest first, until at most `limit` bytes are kept. The caller holds the lock.
  void trim(int64_t limit) {
    while (cached_ > limit && !free_.empty()) {
      auto largest = std::prev(free_.end());
      auto& blocks = largest->second;
      while (cached_ > limit && !blocks.empty()) {
        std::free(blocks.back());
        blocks.pop_back();
        cached_ -= static_cast<int64_t>(largest->first);
      }
      if (blocks.empty()) free_.erase(largest);
    }
  }

  std::mutex mutex_;
  std::map<size_t, std::vector<Header*>> free_;
  int64_t allocated_ = 0;
  int64_t peak_ = 0;
  int64_t cached_ = 0;
  int64_t allocations_ = 0;
};

}  // namespace

void install_caching_allocator() { c10::SetCPUAllocator(&CachingAllocator::instance(), 1); }
MemoryStats memory_stats() { return CachingAllocator::instance().stats(); }
void reset_peak_memory() { CachingAllocator::instance().reset_peak(); }
void release_cached_memory() { CachingAllocator::instance().release_cached(); }

}  // namespace acc
