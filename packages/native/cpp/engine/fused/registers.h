#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace acc::fused {

// The memory of registers. Each begins at a cache line, so that vectors of floats do not cross two.
class Registers {
 public:
  Registers(size_t count, int64_t elements)
      : stride_(stride(elements)),
        memory_(static_cast<float*>(::operator new(count * stride_ * sizeof(float), kAlignment))) {}

  // The number of floats from one register to the next.
  static size_t stride(int64_t elements) { return (static_cast<size_t>(elements) + kFloats - 1) / kFloats * kFloats; }

  float* at(size_t reg) const { return memory_.get() + reg * stride_; }

 private:
  static constexpr size_t kFloats = 16;
  static constexpr std::align_val_t kAlignment{kFloats * sizeof(float)};

  struct Free {
    void operator()(float* memory) const { ::operator delete(memory, kAlignment); }
  };

  size_t stride_;
  std::unique_ptr<float, Free> memory_;
};

}  // namespace acc::fused
