#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace acc {

// A matrix by which many others are multiplied, one after the other. Laid out once as BLAS wants it, where that lays it out anew
// for every product: MKL, for float32 in memory. On two threads that takes a fifth of the time of products with few rows.
class PackedMatrix {
 public:
  // `matrix` [K, N]. `products` matrices of `rows` rows are to be multiplied.
  PackedMatrix(const at::Tensor& matrix, int64_t rows, int64_t products);

  // x [rows, K] times the matrix, contiguous.
  at::Tensor product(const at::Tensor& x) const;

 private:
  at::Tensor matrix_;
  at::Tensor turned_;
  at::Tensor packed_;
  int64_t rows_;
};

}  // namespace acc
