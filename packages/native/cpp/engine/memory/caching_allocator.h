#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "engine/memory/arena.h"

namespace acc {

// The CPU memory that tensors use, in bytes. `reserved` also counts memory kept for reuse.
// `allocations` is the number of allocations so far.
struct MemoryStats {
  int64_t allocated;
  int64_t peak_allocated;
  int64_t reserved;
  int64_t allocations;
};

// The owners of CPU memory are numbers, whose meaning the caller chooses. A block belongs to the owner
// that is set when it is allocated, until it is given to another one.
constexpr size_t kMemoryOwners = 8;
using BytesByOwner = std::array<int64_t, kMemoryOwners>;
struct MemoryOwners {
  BytesByOwner now;
  BytesByOwner at_peak;
};

// Installs an allocator for all CPU tensors of the process. It keeps freed memory for reuse and
// counts bytes. A training step requests the same sizes again and again. If large blocks went back
// to the system each time, every one of their pages would cost a page fault. Idempotent.
void install_caching_allocator();

MemoryStats memory_stats();
void reset_peak_memory();
// Bytes by owner, now and when `peak_allocated` was reached.
MemoryOwners memory_owners();
void set_memory_owner(uint8_t owner);
// Gives the memory of a tensor to another owner. Passes over memory that this allocator did not allocate.
void give_memory(const at::Tensor& tensor, uint8_t owner);
// Returns memory kept for reuse to the system.
void release_cached_memory();

// The allocator while no other thread can use it.
struct LockedAllocator {
  std::unique_lock<std::mutex> lock;
  Arena& arena;

  // Makes the arena at least this large. Before it grows, unused memory goes back to the system.
  bool reserve_arena(size_t bytes);
};

LockedAllocator lock_allocator();

}  // namespace acc
