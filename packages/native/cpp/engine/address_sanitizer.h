#pragma once

#include <cstddef>

// Lets AddressSanitizer see our own allocator's blocks as it sees malloc's. In other builds nothing.
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#endif

namespace acc {

// Reading or writing there is a fault from now on.
inline void forbid_access(void* data, size_t bytes) { ASAN_POISON_MEMORY_REGION(data, bytes); }
inline void allow_access(void* data, size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(data, bytes); }

}  // namespace acc
