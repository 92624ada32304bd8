#include "engine/tensors/tensor_table.h"

#include "engine/error.h"

namespace acc {

double TensorTable::add(at::Tensor tensor) {
  uint32_t index;
  if (free_.empty()) {
    index = static_cast<uint32_t>(slots_.size());
    if (index > kSlotMask) throw Error(kTooManyTensors, "More than 16 million native tensors exist.");
    slots_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[index];
  slot.tensor = std::move(tensor);
  ++live_;
  return static_cast<double>((slot.generation << kSlotBits) | index);
}

bool TensorTable::has(double id) const {
  const auto bits = static_cast<uint64_t>(id);
  const auto index = bits & kSlotMask;
  return id > 0 && index < slots_.size() && slots_[index].generation == bits >> kSlotBits &&
         slots_[index].tensor.defined();
}

const TensorTable::Slot& TensorTable::slot_of(double id) const {
  if (!has(id)) throw Error(kTensorDisposed, "A native tensor was used after it was disposed.");
  return slots_[static_cast<uint64_t>(id) & kSlotMask];
}

const at::Tensor& TensorTable::get(double id) const { return slot_of(id).tensor; }

void TensorTable::release(double id) {
  auto& slot = const_cast<Slot&>(slot_of(id));
  slot.tensor.reset();
  ++slot.generation;
  --live_;
  free_.push_back(static_cast<uint32_t>(static_cast<uint64_t>(id) & kSlotMask));
}

void TensorTable::clear() {
  slots_.clear();
  free_.clear();
  live_ = 0;
}

}  // namespace acc
