// The tanh form of the Gaussian error linear unit and its gradient, as programs.
// kernels/src/fusion/gelu-form.ts has the same steps, so that the bits are those of a program that
// contains them. For the form by the error function libtorch's operators are faster.

#include <ATen/ATen.h>
#include <torch/library.h>

#include <array>
#include <cmath>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/fused/compute.h"
#include "engine/fused/machine_code/code.h"

namespace acc::fused {
namespace {

constexpr float kCubic = 0.044715f, kThreeCubic = 3 * 0.044715;
constexpr float kRootOfTwoByPi = M_2_SQRTPI * M_SQRT1_2;

// The machine code of both formulas, for each dtype.
std::shared_ptr<machine_code::CodeCache> code_of(size_t formula, const std::vector<at::Tensor>& inputs) {
  static const auto caches = [] {
    std::array<std::shared_ptr<machine_code::CodeCache>, 4> all;
    for (auto& cache : all) cache = std::make_shared<machine_code::CodeCache>();
    return all;
  }();
  return caches[2 * formula + (common_dtype(inputs) == at::kBFloat16 ? 1 : 0)];
}

// x/2 · (1 + tanh(√(2/π) · (x + 0.044715·x³))). Register 0 is x, 1 to 4 are constants.
at::Tensor tanh_form(const at::Tensor& x) {
  const std::vector<Step> steps = {
      step(Op::kMul, 5, 0, 0),  step(Op::kMul, 6, 5, 0), step(Op::kMul, 7, 6, 1),   step(Op::kAdd, 8, 7, 0),
      step(Op::kMul, 9, 8, 2),  step(Op::kTanh, 10, 9),  step(Op::kAdd, 11, 10, 4), step(Op::kMul, 12, 0, 3),
      step(Op::kMul, 13, 12, 11),
  };
  return compute({x}, {kCubic, kRootOfTwoByPi, 0.5f, 1.f}, steps, code_of(0, {x}));
}

// With t the tanh: dy · ((1 + t)/2 + x/2 · (1 − t²) · √(2/π) · (1 + 3·0.044715·x²)). Registers 0 and 1
// are dy and x, 2 to 6 are constants.
at::Tensor tanh_form_backward(const at::Tensor& dy, const at::Tensor& x) {
  const std::vector<Step> steps = {
      step(Op::kMul, 7, 1, 1),    step(Op::kMul, 8, 7, 1),    step(Op::kMul, 9, 8, 2),    step(Op::kAdd, 10, 9, 1),
      step(Op::kMul, 11, 10, 3),  step(Op::kTanh, 12, 11),    step(Op::kAdd, 13, 12, 5),  step(Op::kMul, 14, 13, 4),
      step(Op::kMul, 15, 12, 12), step(Op::kSub, 16, 5, 15),  step(Op::kMul, 17, 7, 6),   step(Op::kAdd, 18, 17, 5),
      step(Op::kMul, 19, 18, 3),  step(Op::kMul, 20, 16, 19), step(Op::kMul, 21, 1, 4),   step(Op::kMul, 22, 21, 20),
      step(Op::kAdd, 23, 14, 22), step(Op::kMul, 24, 0, 23),
  };
  return compute({dy, x}, {kCubic, kRootOfTwoByPi, 0.5f, 1.f, kThreeCubic}, steps, code_of(1, {dy, x}));
}

at::Tensor gelu(const at::Tensor& x, std::string_view approximate) {
  return approximate == "tanh" && is_for_programs({x}) ? tanh_form(x) : at::gelu(x, approximate);
}

at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& x, std::string_view approximate) {
  const bool is_for_program = approximate == "tanh" && is_for_programs({dy, x});
  return is_for_program ? tanh_form_backward(dy, x) : at::gelu_backward(dy, x, approximate);
}

}  // namespace
}  // namespace acc::fused

TORCH_LIBRARY_FRAGMENT(acc, library) {
  library.def("gelu(Tensor x, str approximate) -> Tensor", acc::fused::gelu);
  library.def("gelu_backward(Tensor dy, Tensor x, str approximate) -> Tensor", acc::fused::gelu_backward);
}
