// The operator acc::max_pool: libtorch's max pooling, except that NaN is ignored, as in tfjs.

#include <ATen/ATen.h>
#include <torch/library.h>

#include <cmath>
#include <limits>
#include <tuple>

namespace acc {
namespace {

using Maxima = std::tuple<at::Tensor, at::Tensor>;

Maxima maxima_of(const at::Tensor& images, at::IntArrayRef window, at::IntArrayRef stride, at::IntArrayRef padding,
                 bool ceil_mode) {
  return window.size() == 2 ? at::max_pool2d_with_indices(images, window, stride, padding, 1, ceil_mode)
                            : at::max_pool3d_with_indices(images, window, stride, padding, 1, ceil_mode);
}

at::Tensor without_nan(const at::Tensor& images) {
  const auto least = at::scalar_tensor(-std::numeric_limits<double>::infinity(), images.options());
  return at::fmax(images, least);
}

Maxima max_pool(const at::Tensor& images, at::IntArrayRef window, at::IntArrayRef stride, at::IntArrayRef padding,
                bool ceil_mode) {
  // Checking for NaN on another device would make this thread wait for that device.
  if (!images.is_cpu()) return maxima_of(without_nan(images), window, stride, padding, ceil_mode);
  // libtorch returns NaN for a window that contains NaN, so NaN in the maxima shows NaN in the
  // images. This check takes a fifteenth of the time that cleaning every input takes.
  auto maxima = maxima_of(images, window, stride, padding, ceil_mode);
  const auto& values = std::get<0>(maxima);
  if (values.numel() == 0 || !std::isnan(at::amax(values).item<double>())) return maxima;
  return maxima_of(without_nan(images), window, stride, padding, ceil_mode);
}

}  // namespace
}  // namespace acc

// A fragment, because other files define operators of the same namespace.
TORCH_LIBRARY_FRAGMENT(acc, library) {
  library.def("max_pool(Tensor images, int[] window, int[] stride, int[] padding, bool ceil_mode) -> (Tensor, Tensor)",
              acc::max_pool);
}
