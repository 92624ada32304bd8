#include "engine/kernels/product/widened.h"

#include <ATen/ATen.h>

#include <optional>
#include <unordered_set>

namespace acc {
namespace {

const std::unordered_set<std::string> kProducts = {
    "aten::mm",     "aten::addmm",       "aten::bmm",
    "aten::matmul", "aten::baddbmm",     "aten::convolution",
    "acc::convolution_weight_gradient",
};

// The answer of libtorch's operator `name` without arguments. False if there is none.
bool answer_of(const char* name) {
  const auto found = c10::Dispatcher::singleton().findSchema({name, ""});
  if (!found) return false;
  torch::jit::Stack stack;
  found->callBoxed(stack);
  return stack.size() == 1 && stack[0].isBool() && stack[0].toBool();
}

std::optional<c10::ScalarType> slow_dtype_in(const torch::jit::Stack& stack) {
  for (const auto& value : stack) {
    if (value.isTensor() && value.toTensor().defined() && !has_products_of(value.toTensor())) {
      return value.toTensor().scalar_type();
    }
  }
  return std::nullopt;
}

}  // namespace

bool has_products_of(const at::Tensor& tensor) {
  static const bool has_bfloat16 = answer_of("mkldnn::_is_mkldnn_bf16_supported");
  static const bool has_float16 = answer_of("mkldnn::_is_mkldnn_fp16_supported");
  if (!tensor.is_cpu()) return true;
  if (tensor.scalar_type() == at::kBFloat16) return has_bfloat16;
  return tensor.scalar_type() != at::kHalf || has_float16;
}

at::Tensor widened(const at::Tensor& tensor) { return has_products_of(tensor) ? tensor : tensor.to(at::kFloat); }

bool is_product(const std::string& name) { return kProducts.count(name) > 0; }

void call_on(torch::jit::Stack& stack, const Operator& op) {
  const auto dtype = op.is_product ? slow_dtype_in(stack) : std::nullopt;
  if (!dtype) return op.handle.callBoxed(stack);
  for (auto& value : stack) {
    if (value.isTensor() && value.toTensor().defined()) value = widened(value.toTensor());
  }
  op.handle.callBoxed(stack);
  for (auto& value : stack) {
    if (value.isTensor() && value.toTensor().defined()) value = value.toTensor().to(*dtype);
  }
}

}  // namespace acc
