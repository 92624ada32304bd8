// The operator acc::matmul: a product of two matrices in host memory, with bias and relu, on CPUs
// with AVX-512.

#include <ATen/ATen.h>
#include <torch/library.h>

#include <optional>
#include <string>

#include "engine/activation.h"
#include "engine/product/product.h"
#include "engine/product/tensors.h"

namespace acc::product {
namespace {

using at::Tensor;

Tensor matmul(const Tensor& a, const Tensor& b, const std::optional<Tensor>& bias, bool transpose_a, bool transpose_b,
              std::string activation) {
  const auto kind = activation_of(activation);
  TORCH_CHECK(kind == Activation::kLinear || kind == Activation::kRelu, "acc::matmul has no activation '", activation, "'.");
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2, "acc::matmul needs two matrices.");
  const auto left = transpose_a ? a.t() : a, right = transpose_b ? b.t() : b;
  TORCH_CHECK(left.size(1) == right.size(0), "acc::matmul cannot multiply ", left.sizes(), " by ", right.sizes(), ".");
  TORCH_CHECK(can_multiply(left, right), "acc::matmul needs two matrices of one dtype, float32 or bfloat16, in host memory, ",
              "and a CPU with AVX-512 (for bfloat16 with AVX512_BF16).");
  Ending ending;
  ending.is_relu = kind == Activation::kRelu;
  Tensor row;
  if (bias) {
    TORCH_CHECK(bias->dim() == 1 && bias->size(0) == right.size(1) && bias->scalar_type() == a.scalar_type() && bias->is_cpu(),
                "acc::matmul needs a bias with one number for each column, of the matrices' dtype.");
    row = bias->contiguous();
    ending.bias = row.const_data_ptr();
  }
  const auto result = at::empty({left.size(0), right.size(1)}, a.options());
  multiply(dtype_of(a), matrix_of(left), matrix_of(right), sizes_of(left, right), ending, out_of(result));
  return result;
}

}  // namespace
}  // namespace acc::product

TORCH_LIBRARY_FRAGMENT(acc, library) {
  library.def("matmul(Tensor a, Tensor b, Tensor? bias, bool transpose_a, bool transpose_b, str activation) -> Tensor",
              acc::product::matmul);
}
