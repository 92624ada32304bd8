#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace acc {

// A matrix by which many others are multiplied, one after the other. It is packed once into the
// layout that MKL's kernels read, instead of anew for every product. Dtypes whose products are
// fast are not packed. On CPUs with AVX-512, recurrent/ multiplies.
class PackedMatrix {
 public:
  // `matrix` is [K, N]. `products` matrices of `rows` rows are to be multiplied by it.
  PackedMatrix(const at::Tensor& matrix, int64_t rows, int64_t products);

  // The product of x [rows, K] and the matrix. It is contiguous.
  at::Tensor product(const at::Tensor& x);
  // Writes it to `out`.
  void product_to(at::Tensor out, const at::Tensor& x);
  // Adds it to `out`.
  void add_product(at::Tensor out, const at::Tensor& x);

 private:
  const at::Tensor& contiguous();

  // In float32 if products of its dtype would be slow.
  at::Tensor matrix_;
  c10::ScalarType dtype_;
  // For MKL.
  at::Tensor turned_;
  at::Tensor packed_;
  int64_t rows_, products_;
};

}  // namespace acc
