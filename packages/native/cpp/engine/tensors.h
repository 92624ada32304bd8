#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <vector>

namespace acc {

// A tensor on `device` with a copy of `bytes` bytes at `data`, read as `dtype` in row-major order.
at::Tensor tensor_from_bytes(const void* data, size_t bytes, c10::ScalarType dtype,
                             const std::vector<int64_t>& shape, c10::Device device);

// The tensor on the CPU, row-major, as `dtype`; the tensor itself where it is that already.
at::Tensor tensor_for_reading(const at::Tensor& tensor, c10::ScalarType dtype);

// The element type of a number that JavaScript gave. Throws ACC_INVALID_ARGUMENT.
c10::ScalarType scalar_type_from(int code);

}  // namespace acc
