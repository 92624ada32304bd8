// The operator acc::max_pool: libtorch's max pooling, except that NaN is ignored, as in tfjs; and its
// gradient.

#include <ATen/ATen.h>
#include <torch/library.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "engine/kernels/max_pool/rows.h"

namespace acc {
namespace {

using PoolResults = std::tuple<at::Tensor, at::Tensor>;

PoolResults maxima_of(const at::Tensor& images, at::IntArrayRef window, at::IntArrayRef stride, at::IntArrayRef padding,
                      bool ceil_mode) {
  return window.size() == 2 ? at::max_pool2d_with_indices(images, window, stride, padding, 1, ceil_mode)
                            : at::max_pool3d_with_indices(images, window, stride, padding, 1, ceil_mode);
}

at::Tensor without_nan(const at::Tensor& images) {
  const auto least = at::scalar_tensor(-std::numeric_limits<double>::infinity(), images.options());
  return at::fmax(images, least);
}

// The number of windows along a dim, as in libtorch.
int64_t windows_along(int64_t size, int64_t window, int64_t stride, int64_t padding, bool ceil_mode) {
  const auto steps = (size + 2 * padding - window + (ceil_mode ? stride - 1 : 0)) / stride;
  // A last window that would begin after the image is left out.
  return ceil_mode && steps * stride >= size + padding ? steps : steps + 1;
}

PoolResults max_pool(const at::Tensor& images, at::IntArrayRef window, at::IntArrayRef stride, at::IntArrayRef padding,
                     bool ceil_mode) {
  if (has_pool_rows(images)) {
    const auto along = [&](int64_t dim) {
      return windows_along(images.size(dim + 2), window[dim], stride[dim], padding[dim], ceil_mode);
    };
    return max_pool_rows(images, {along(0), along(1)}, {window, stride, padding});
  }
  // Checking for NaN on another device would make this thread wait for that device.
  if (!images.is_cpu()) return maxima_of(without_nan(images), window, stride, padding, ceil_mode);
  // libtorch returns NaN for a window that contains NaN, so NaN in the maxima shows NaN in the
  // images. This check takes a fifteenth of the time that cleaning every input takes.
  auto maxima = maxima_of(images, window, stride, padding, ceil_mode);
  const auto& values = std::get<0>(maxima);
  if (values.numel() == 0 || !std::isnan(at::amax(values).item<double>())) return maxima;
  return maxima_of(without_nan(images), window, stride, padding, ceil_mode);
}

// Only the sizes, dtype and layout of `images` are used.
at::Tensor max_pool_backward(const at::Tensor& dy, const at::Tensor& images, at::IntArrayRef window,
                             at::IntArrayRef stride, at::IntArrayRef padding, bool ceil_mode, const at::Tensor& indices) {
  if (has_pool_rows(images)) return max_pool_backward_rows(dy, images, indices, {window, stride, padding});
  if (window.size() == 2) {
    return at::max_pool2d_with_indices_backward(dy, images, window, stride, padding, 1, ceil_mode, indices);
  }
  return at::max_pool3d_with_indices_backward(dy, images, window, stride, padding, 1, ceil_mode, indices);
}

}  // namespace
}  // namespace acc

// A fragment, because other files define operators of the same namespace.
TORCH_LIBRARY_FRAGMENT(acc, library) {
  library.def("max_pool(Tensor images, int[] window, int[] stride, int[] padding, bool ceil_mode) -> (Tensor, Tensor)",
              acc::max_pool);
  library.def("max_pool_backward(Tensor dy, Tensor images, int[] window, int[] stride, int[] padding, bool ceil_mode, "
              "Tensor indices) -> Tensor",
              acc::max_pool_backward);
}
