#pragma once

#include <cstdint>

namespace acc {

// The CPU memory that tensors use, in bytes. `reserved` also counts memory kept for reuse.
// `allocations` is the number of allocations so far.
struct MemoryStats {
  int64_t allocated;
  int64_t peak_allocated;
  int64_t reserved;
  int64_t allocations;
};

// Installs an allocator for all CPU tensors of the process. It keeps freed memory for reuse and
// counts bytes. A training step requests the same sizes again and again. If large blocks went back
// to the system each time, every one of their pages would cost a page fault. Idempotent.
void install_caching_allocator();

MemoryStats memory_stats();
void reset_peak_memory();
// Returns memory kept for reuse to the system. A free block of a segment that is partly in use
// stays.
void release_cached_memory();

}  // namespace acc
