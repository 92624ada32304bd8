#pragma once

// The memory of the devices. One memfd is mapped twice: at the addresses that tensors show, where
// the host may neither read nor write, and at the addresses that kernels use.

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

namespace late {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;
constexpr int kDevices = 2;
/** The memory of a device. A smaller limit can be set. */
constexpr size_t kDeviceBytes = size_t{256} << 30;

struct Block {
  char* shown = nullptr;
  /** A multiple of the block size. */
  size_t bytes = 0;
  size_t wanted = 0;
  bool is_live = false;
  c10::DeviceIndex device = 0;
  int64_t stream = 0;
  /** Other streams that use the block, which is used again after them. */
  std::set<int64_t> users;
  /** The outermost operator that ran when the block was allocated. */
  std::string birth;
};

struct Figures {
  int64_t allocated = 0;
  int64_t peak = 0;
  int64_t reserved = 0;
  int64_t allocations = 0;
};

class Arena {
 public:
  static Arena& instance();

  /** @throws c10::OutOfMemoryError beyond the limit. */
  Block* allocate(size_t bytes, c10::DeviceIndex device, int64_t stream);
  /** The block no longer counts, but its memory stays as it is until {@link reuse}. */
  void release(Block* block);
  /** Overwrites a released block. A later allocation may get it. */
  void reuse(Block* block);
  void empty_cache();
  /** A stream uses the block of an address. */
  void note_user(const void* shown, int64_t stream);
  /** The stream of the block at an address. */
  int64_t stream_of(const void* shown);

  bool contains(const void* shown) const { return shown >= shown_ && shown < shown_ + kDevices * kDeviceBytes; }
  char* for_kernels(const void* shown) const {
    return const_cast<char*>(static_cast<const char*>(shown)) + (kernels_ - shown_);
  }
  c10::DeviceIndex device_of(const void* shown) const;
  Figures figures(c10::DeviceIndex device);
  void reset_peak(c10::DeviceIndex device);
  void set_limit(size_t bytes);
  size_t limit() const { return limit_; }
  /** Describes the memory at an address. For the signal handler: it waits for no lock. */
  std::string describe(const void* shown);

 private:
  Arena();

  std::mutex mutex_;
  char* shown_ = nullptr;
  char* kernels_ = nullptr;
  size_t limit_ = size_t{16} << 30;
  size_t used_[kDevices] = {};
  Figures figures_[kDevices];
  std::map<char*, Block> blocks_;
  /** Blocks that can be used again, by device and size, the oldest first. */
  std::map<std::pair<int, size_t>, std::multimap<uint64_t, Block*>> free_;
  uint64_t freed_ = 0;
};

/** Ends the process with a report if the host touches memory of a device. */
void report_host_access();

/** The outermost operator that runs on this thread. */
const char* running_operator();
void note_running_operators();

}  // namespace late
