#pragma once

#include <cstddef>
#include <cstdint>

namespace acc {

// Bytes of CPU memory that tensors use. `reserved` counts blocks kept for reuse too.
struct MemoryStats {
  int64_t allocated;
  int64_t peak_allocated;
  int64_t reserved;
  int64_t allocations;
};

// Makes every CPU tensor of the process come from an allocator that keeps freed blocks by size class and counts
// bytes. A training step asks for the same sizes again and again; returning large blocks to the system each
// time would cost a page fault for every 4 KiB of them. Idempotent.
void install_caching_allocator();

MemoryStats memory_stats();
void reset_peak_memory();
// Returns the blocks kept for reuse to the system.
void release_cached_memory();

}  // namespace acc
