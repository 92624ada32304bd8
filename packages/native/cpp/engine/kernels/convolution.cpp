// The operator acc::convolution_weight_gradient: libtorch's weight gradient of a convolution. For
// float16 in host memory it computes in float32. libtorch has no oneDNN kernel for that case, and
// takes a hundred times as long in float16.

#include <ATen/ATen.h>
#include <torch/library.h>

#include <array>
#include <vector>

namespace acc {
namespace {

at::Tensor weight_gradient_as_is(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                                 at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                                 int64_t groups) {
  const std::vector<int64_t> none(stride.size(), 0);
  const std::array<bool, 3> asked{false, true, false};
  return std::get<1>(at::convolution_backward(dy, x, weight, std::nullopt, stride, padding, dilation, false, none,
                                              groups, asked));
}

// Only the shape, strides and dtype of `weight` are used.
at::Tensor convolution_weight_gradient(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                                       at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                                       int64_t groups) {
  if (!x.is_cpu() || x.scalar_type() != at::kHalf) {
    return weight_gradient_as_is(dy, x, weight, stride, padding, dilation, groups);
  }
  const auto wide = at::empty_strided(weight.sizes(), weight.strides(), weight.options().dtype(at::kFloat));
  return weight_gradient_as_is(dy.to(at::kFloat), x.to(at::kFloat), wide, stride, padding, dilation, groups)
      .to(at::kHalf);
}

}  // namespace
}  // namespace acc

TORCH_LIBRARY_FRAGMENT(acc, library) {
  library.def("convolution_weight_gradient(Tensor dy, Tensor x, Tensor weight, int[] stride, int[] padding, "
              "int[] dilation, int groups) -> Tensor",
              acc::convolution_weight_gradient);
}
