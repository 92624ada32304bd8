#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/fused/machine_code/plan.h"

namespace acc::fused::machine_code {

// Computes the steps of a level over `count` elements, or over `count` rows if the level has rows.
// `memory` has the addresses of the slots, of each input, and of each result.
using Kernel = void (*)(void* const* memory, int64_t count);

// The number of vectors that kernels keep in memory beyond the slots.
inline constexpr size_t kSpills = 256, kSpillFloats = 16;

class KernelCode {
 public:
  virtual ~KernelCode() = default;
  // Of each level. Null if a level has no steps for kernels.
  virtual const std::vector<Kernel>& kernels() const = 0;
};

// Whether this CPU runs kernels.
bool has_kernels();

// The kernels of a plan for vectors of 16 floats (AVX-512).
// @param slot_bytes The distance between slots.
// @throws std::exception if the system gives no executable memory.
std::unique_ptr<KernelCode> compile(const Program& program, const Plan& plan, size_t slot_bytes);

}  // namespace acc::fused::machine_code
