#pragma once

#include <cstdint>

namespace acc {

// Bytes of CPU memory that tensors use. `reserved` counts what is kept for reuse too.
struct MemoryStats {
  int64_t allocated;
  int64_t peak_allocated;
  int64_t reserved;
  int64_t allocations;
};

// Makes every CPU tensor of the process come from an allocator that keeps freed memory and counts bytes. A training
// step asks for the same sizes again and again; returning large blocks to the system each time would cost a page fault for
// every page of them. Idempotent.
void install_caching_allocator();

MemoryStats memory_stats();
void reset_peak_memory();
// Returns what is kept for reuse to the system, as far as nothing in use lies beside it.
void release_cached_memory();

}  // namespace acc
