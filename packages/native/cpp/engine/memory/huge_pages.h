#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>

namespace acc {

// Takes memory from the system in huge pages where it has them. Rounds `bytes` up to whole pages.
// Returns null if the system has no more memory.
inline void* take_huge_pages(size_t& bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* memory = nullptr;
  if (posix_memalign(&memory, kHugePage, bytes) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return memory;
}

inline void give_huge_pages_back(void* memory) { std::free(memory); }

}  // namespace acc
