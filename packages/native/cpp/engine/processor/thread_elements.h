#pragma once

#include <cstdint>

namespace acc {

// The number of elements for which elementwise operators and norms use one more thread. One thread takes
// some 40 µs for them, and waking another one takes 75.
inline constexpr int64_t kThreadElements = 65536;

}  // namespace acc
