#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/processor/aligned_floats.h"

namespace acc::fused {

// The memory of registers. Each begins at a cache line.
class Registers {
 public:
  Registers(size_t count, int64_t elements) : stride_(stride(elements)), memory_(count * stride_) {}

  // The number of floats from one register to the next.
  static size_t stride(int64_t elements) {
    constexpr auto line = AlignedFloats::kFloatsInLine;
    return (static_cast<size_t>(elements) + line - 1) / line * line;
  }

  float* at(size_t reg) const { return memory_.data() + reg * stride_; }

 private:
  size_t stride_;
  AlignedFloats memory_;
};

}  // namespace acc::fused
