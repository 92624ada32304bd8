#pragma once

#include <c10/core/Device.h>

#include "engine/memory/caching_allocator.h"

namespace acc {

// The memory of tensors on `device`. On a device other than the CPU, its own allocator counts.
MemoryStats memory_stats(c10::Device device);
void reset_peak_memory(c10::Device device);
// Returns memory kept for reuse to the device.
void release_cached_memory(c10::Device device);
// The bytes of a device's memory, used and unused. 0 for the CPU, and for a device that does not tell.
int64_t total_memory(c10::Device device);

}  // namespace acc
