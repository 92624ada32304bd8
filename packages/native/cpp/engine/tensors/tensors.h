#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace acc {

// A tensor on `device` with a copy of the `bytes` bytes at `data`. They are row-major elements of
// type `dtype`.
at::Tensor tensor_from_bytes(const void* data, size_t bytes, c10::ScalarType dtype,
                             const std::vector<int64_t>& shape, c10::Device device);

// A tensor on the CPU in the memory at `data`. `release` is called once no tensor uses the memory.
// Throws ACC_INVALID_ARGUMENT, after which `release` was called, too.
at::Tensor tensor_over_bytes(void* data, size_t bytes, c10::ScalarType dtype, const std::vector<int64_t>& shape,
                             const std::function<void(void*)>& release);

// The tensor on the CPU, row-major and of type `dtype`. Returns the tensor itself if it has this
// form already.
at::Tensor tensor_for_reading(const at::Tensor& tensor, c10::ScalarType dtype);

// The address of the elements of a row-major tensor in host memory. Throws ACC_INVALID_ARGUMENT for
// any other tensor.
void* row_major_memory(const at::Tensor& tensor);

// A tensor of `length` elements, from element `start` on, in the memory of a row-major tensor. It
// keeps that memory alive. It has a storage of its own: memory_flags says nothing of the other
// tensors in the same memory. Throws ACC_INVALID_ARGUMENT.
at::Tensor memory_part(const at::Tensor& tensor, int64_t start, int64_t length);

// A tensor with the dtype, shape and strides of `tensor`, and without memory. Operators on it compute
// nothing but these.
at::Tensor shadow_of(const at::Tensor& tensor);

// Properties of a tensor's memory. src/tensor.ts uses the same numbers.
enum MemoryFlag : uint8_t {
  // The elements are row-major without gaps.
  kContiguous = 1,
  // No other tensor shares the memory, nobody else holds this tensor, and no recording has computed
  // constants from it. So nobody sees a write.
  kExclusive = 2,
};

// The MemoryFlags of a tensor of which one handle is known. kExclusive is set if that handle has
// the only reference and the memory is not frozen.
uint8_t memory_flags(const at::Tensor& tensor);

// The element type for a number from JavaScript. Throws ACC_INVALID_ARGUMENT.
c10::ScalarType scalar_type_from(int code);

}  // namespace acc
