#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace acc {

// A matrix by which many others are multiplied, one after the other. It is packed once into the
// layout that BLAS uses internally. Otherwise MKL packs it anew for every product. Packing applies
// to float32 in host memory. On two threads it takes a fifth of the time of a product with few
// rows.
class PackedMatrix {
 public:
  // `matrix` is [K, N]. `products` matrices of `rows` rows are to be multiplied by it.
  PackedMatrix(const at::Tensor& matrix, int64_t rows, int64_t products);

  // The product of x [rows, K] and the matrix. It is contiguous.
  at::Tensor product(const at::Tensor& x) const;

 private:
  at::Tensor matrix_;
  at::Tensor turned_;
  at::Tensor packed_;
  int64_t rows_;
};

}  // namespace acc
