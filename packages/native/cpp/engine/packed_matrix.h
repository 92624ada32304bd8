#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace acc {

// A matrix by which many others are multiplied, one after the other. It is packed once into the
// layout that the kernel of the products reads, instead of anew for every product. That is the layout
// of product/ for float32 and bfloat16 on CPUs with AVX-512, else that of MKL for float32.
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
  bool multiply_panels(const at::Tensor& out, const at::Tensor& x, bool is_added) const;
  const at::Tensor& contiguous();

  at::Tensor matrix_;
  // In panels of product/.
  at::Tensor panels_;
  // For MKL.
  at::Tensor turned_;
  at::Tensor packed_;
  int64_t rows_, products_;
};

}  // namespace acc
