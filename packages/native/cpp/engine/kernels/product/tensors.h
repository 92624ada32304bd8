#pragma once

#include <ATen/core/Tensor.h>

#include "engine/kernels/product/product.h"

// The tensors of libtorch as matrices of product.h.
namespace acc::product {

inline Dtype dtype_of(const at::Tensor& x) { return x.scalar_type() == at::kFloat ? Dtype::kFloat : Dtype::kBfloat16; }

inline bool can_multiply(const at::Tensor& left, const at::Tensor& right) {
  const bool has_dtype = left.scalar_type() == at::kFloat || left.scalar_type() == at::kBFloat16;
  return has_dtype && left.scalar_type() == right.scalar_type() && left.is_cpu() && right.is_cpu() &&
         is_supported(dtype_of(left));
}

inline Matrix matrix_of(const at::Tensor& x) { return {x.const_data_ptr(), x.stride(0), x.stride(1)}; }
inline Sizes sizes_of(const at::Tensor& left, const at::Tensor& right) { return {left.size(0), left.size(1), right.size(1)}; }
inline Out out_of(const at::Tensor& x) { return {x.mutable_data_ptr(), x.stride(0)}; }

}  // namespace acc::product
