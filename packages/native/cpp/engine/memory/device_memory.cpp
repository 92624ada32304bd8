#include "engine/memory/device_memory.h"

#include <c10/core/CachingDeviceAllocator.h>

namespace acc {
namespace {

// The allocator of the device. Null until the device has memory of its own, and for devices whose
// allocator has no statistics.
c10::DeviceAllocator* allocator_of(c10::Device device) {
  auto* allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()));
  return allocator != nullptr && allocator->initialized() ? allocator : nullptr;
}

constexpr auto kAllPools = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

}  // namespace

MemoryStats memory_stats(c10::Device device) {
  if (device.is_cpu()) return memory_stats();
  auto* allocator = allocator_of(device);
  if (allocator == nullptr) return {0, 0, 0, 0};
  const auto stats = allocator->getDeviceStats(device.index());
  const auto& bytes = stats.allocated_bytes[kAllPools];
  return {bytes.current, bytes.peak, stats.reserved_bytes[kAllPools].current, stats.allocation[kAllPools].allocated};
}

void reset_peak_memory(c10::Device device) {
  if (device.is_cpu()) return reset_peak_memory();
  if (auto* allocator = allocator_of(device)) allocator->resetPeakStats(device.index());
}

void release_cached_memory(c10::Device device) {
  // Host memory, too: uploads and reads go through it.
  release_cached_memory();
  if (device.is_cpu()) return;
  if (auto* allocator = allocator_of(device)) allocator->emptyCache();
}

int64_t total_memory(c10::Device device) {
  auto* allocator = device.is_cpu() ? nullptr : allocator_of(device);
  return allocator == nullptr ? 0 : static_cast<int64_t>(allocator->getMemoryInfo(device.index()).second);
}

}  // namespace acc
