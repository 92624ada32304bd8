// The operators acc::int8_matmul, a product of two matrices that are rounded to 8-bit integers, and
// acc::has_int8_products.

#include <ATen/ATen.h>
#include <torch/library.h>

#include <optional>
#include <string>

#include "engine/kernels/int8_product/product.h"
#include "engine/kernels/recurrent/activation.h"

namespace acc::int8 {
namespace {

using at::Tensor;

bool is_float(const Tensor& x) { return x.scalar_type() == at::kFloat; }
bool has_dtype(const Tensor& x) { return is_float(x) || x.scalar_type() == at::kBFloat16; }

// A matrix whose columns or rows are without gaps.
Tensor dense(const Tensor& x) { return x.stride(0) == 1 || x.stride(1) == 1 ? x : x.contiguous(); }

// Lanes are the rows of `lanes`.
Operand operand_of(const Tensor& lanes, bool is_stochastic, int64_t seed) {
  return {lanes.const_data_ptr(), is_float(lanes), lanes.stride(0), lanes.stride(1), lanes.size(0),
          is_stochastic,          static_cast<uint32_t>(seed)};
}

// What each row is if there are no products to add. `bias` may be undefined.
Tensor end_of_no_sum(const Tensor& bias, bool is_relu) {
  if (!bias.defined()) return at::zeros({1}, at::kFloat);
  return is_relu ? bias.relu() : bias;
}

Tensor matmul(const Tensor& a, const Tensor& b, const std::optional<Tensor>& bias, bool transpose_a, bool transpose_b,
              const std::string& activation, at::ScalarType dtype, const std::string& stochastic, int64_t seed,
              bool is_plain) {
  const auto kind = activation_of(activation);
  TORCH_CHECK(kind == Activation::kLinear || kind == Activation::kRelu, "acc::int8_matmul has no activation '", activation, "'.");
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2, "acc::int8_matmul needs two matrices.");
  TORCH_CHECK(has_dtype(a) && has_dtype(b) && a.is_cpu() && b.is_cpu(),
              "acc::int8_matmul needs two matrices of float32 or bfloat16 in host memory.");
  TORCH_CHECK(dtype == at::kFloat || dtype == at::kBFloat16, "acc::int8_matmul gives float32 or bfloat16.");
  const auto left = dense(transpose_a ? a.t() : a), right = dense(transpose_b ? b : b.t());
  TORCH_CHECK(left.size(1) == right.size(1), "acc::int8_matmul cannot multiply ", left.sizes(), " by ", right.t().sizes(),
              ". The columns of the first matrix and the rows of the second one must be equal in number.");
  Tensor row;
  Ending ending;
  ending.is_relu = kind == Activation::kRelu;
  if (bias) {
    TORCH_CHECK(bias->dim() == 1 && bias->size(0) == right.size(0) && bias->is_cpu(),
                "acc::int8_matmul needs a bias with one number for each column.");
    row = bias->to(at::kFloat).contiguous();
    ending.bias = row.const_data_ptr<float>();
  }
  const auto result = at::empty({left.size(0), right.size(0)}, a.options().dtype(dtype));
  if (result.numel() == 0) return result;
  if (left.size(1) == 0) return result.copy_(end_of_no_sum(row, ending.is_relu));
  const auto run = is_plain || !has_instructions() ? multiply_plainly : multiply;
  run(operand_of(left, stochastic == "a", seed), operand_of(right, stochastic == "b", seed), left.size(1), ending,
      {result.mutable_data_ptr(), dtype == at::kFloat});
  return result;
}

Tensor has_products() { return at::scalar_tensor(has_instructions(), at::kBool); }

}  // namespace
}  // namespace acc::int8

TORCH_LIBRARY_FRAGMENT(acc, library) {
  library.def(
      "int8_matmul(Tensor a, Tensor b, Tensor? bias, bool transpose_a, bool transpose_b, str activation, "
      "ScalarType dtype, str stochastic, int seed, bool is_plain) -> Tensor",
      acc::int8::matmul);
  library.def("has_int8_products() -> Tensor", acc::int8::has_products);
}
