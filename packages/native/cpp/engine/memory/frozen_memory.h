#pragma once

#include <ATen/core/Tensor.h>

namespace acc {

// While it lives, `memory_flags` do not call the memory of a tensor exclusive, so nobody writes into it
// in place. It does not keep the memory alive.
class FrozenMemory {
 public:
  explicit FrozenMemory(const at::Tensor& tensor);
  ~FrozenMemory();
  FrozenMemory(const FrozenMemory&) = delete;
  FrozenMemory& operator=(const FrozenMemory&) = delete;

  // Whether all who write into the tensor's memory in place ask `memory_flags` of that memory before. Not
  // so if libtorch did not allocate it: it is a part of other memory, an array of JavaScript, or a file.
  static bool is_possible(const at::Tensor& tensor);
  static bool has(const at::Tensor& tensor);

 private:
  c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
};

}  // namespace acc
