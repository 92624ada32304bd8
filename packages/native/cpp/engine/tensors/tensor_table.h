#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace acc {

// The tensors that JavaScript holds, each with a handle. A handle consists of a slot and the slot's
// generation, so the use of a released handle is detected.
class TensorTable {
 public:
  double add(at::Tensor tensor);
  const at::Tensor& get(double id) const;
  // False for a handle that was released.
  bool has(double id) const;
  void release(double id);
  void clear();
  size_t size() const { return live_; }

 private:
  struct Slot {
    at::Tensor tensor;
    uint64_t generation = 1;
  };
  static constexpr uint64_t kSlotBits = 24;
  static constexpr uint64_t kSlotMask = (uint64_t{1} << kSlotBits) - 1;

  const Slot& slot_of(double id) const;

  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  size_t live_ = 0;
};

}  // namespace acc
