#pragma once

#include <cstddef>

// Tells AddressSanitizer about the blocks of our allocator, as malloc does for its own. Does
// nothing in other builds.
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#endif

namespace acc {

// After forbid_access, AddressSanitizer reports every access to the range.
inline void forbid_access(void* data, size_t bytes) { ASAN_POISON_MEMORY_REGION(data, bytes); }
inline void allow_access(void* data, size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(data, bytes); }

}  // namespace acc
