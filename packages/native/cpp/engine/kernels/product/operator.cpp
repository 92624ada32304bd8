// Operators of products of two matrices in host memory, on CPUs with AVX-512: acc::matmul with bias and
// relu, and acc::addmm, which adds a product to a matrix.

#include <ATen/ATen.h>
#include <torch/library.h>

#include <optional>
#include <string>

#include "engine/kernels/product/product.h"
#include "engine/kernels/product/tensors.h"
#include "engine/kernels/recurrent/activation.h"

namespace acc::product {
namespace {

using at::Tensor;

struct Factors {
  Tensor left, right;
};

Factors factors_of(const char* name, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2, name, " needs two matrices.");
  Factors factors{transpose_a ? a.t() : a, transpose_b ? b.t() : b};
  const auto& [left, right] = factors;
  TORCH_CHECK(left.size(1) == right.size(0), name, " cannot multiply ", left.sizes(), " by ", right.sizes(), ".");
  TORCH_CHECK(can_multiply(left, right), name, " needs two matrices of one dtype, float32 or bfloat16, in host memory, ",
              "and a CPU with AVX-512 (for bfloat16 with AVX512_BF16).");
  return factors;
}

Tensor matmul(const Tensor& a, const Tensor& b, const std::optional<Tensor>& bias, bool transpose_a, bool transpose_b,
              std::string activation) {
  const auto kind = activation_of(activation);
  TORCH_CHECK(kind == Activation::kLinear || kind == Activation::kRelu, "acc::matmul has no activation '", activation, "'.");
  const auto [left, right] = factors_of("acc::matmul", a, b, transpose_a, transpose_b);
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

void addmm_(const Tensor& sum, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  const auto [left, right] = factors_of("acc::addmm_", a, b, transpose_a, transpose_b);
  TORCH_CHECK(sum.dim() == 2 && sum.size(0) == left.size(0) && sum.size(1) == right.size(1) &&
                  sum.scalar_type() == a.scalar_type() && sum.is_cpu() && sum.is_contiguous(),
              "acc::addmm_ needs a contiguous sum with the shape and the dtype of the product.");
  Ending ending;
  ending.is_added = true;
  multiply(dtype_of(a), matrix_of(left), matrix_of(right), sizes_of(left, right), ending, out_of(sum));
}

Tensor addmm(const Tensor& sum, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  auto result = sum.clone(at::MemoryFormat::Contiguous);
  addmm_(result, a, b, transpose_a, transpose_b);
  return result;
}

}  // namespace
}  // namespace acc::product

TORCH_LIBRARY_FRAGMENT(acc, library) {
  library.def("matmul(Tensor a, Tensor b, Tensor? bias, bool transpose_a, bool transpose_b, str activation) -> Tensor",
              acc::product::matmul);
  library.def("addmm(Tensor sum, Tensor a, Tensor b, bool transpose_a, bool transpose_b) -> Tensor", acc::product::addmm);
  library.def("addmm_(Tensor(a!) sum, Tensor a, Tensor b, bool transpose_a, bool transpose_b) -> ()", acc::product::addmm_);
}
