#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace acc {

// A tensor on `device` with a copy of `bytes` bytes at `data`, read as `dtype` in row-major order.
at::Tensor tensor_from_bytes(const void* data, size_t bytes, c10::ScalarType dtype,
                             const std::vector<int64_t>& shape, c10::Device device);

// The tensor on the CPU, row-major, as `dtype`; the tensor itself where it is that already.
at::Tensor tensor_for_reading(const at::Tensor& tensor, c10::ScalarType dtype);

// Where the elements of a row-major tensor in the host's memory lie. Throws ACC_INVALID_ARGUMENT for another one.
void* row_major_memory(const at::Tensor& tensor);

// What may be done with a tensor's memory; the numbers are shared with src/tensor.ts.
enum MemoryFlag : uint8_t {
  // Row-major without gaps.
  kContiguous = 1,
  // No other tensor, and no other holder of this one, sees what is written into it.
  kExclusive = 2,
};

// The MemoryFlags of a tensor of which one handle is known.
uint8_t memory_flags(const at::Tensor& tensor);

// The element type of a number that JavaScript gave. Throws ACC_INVALID_ARGUMENT.
c10::ScalarType scalar_type_from(int code);

}  // namespace acc
