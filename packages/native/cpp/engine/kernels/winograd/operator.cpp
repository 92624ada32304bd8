// The operators acc::winograd_convolution and acc::winograd_convolution_weight_gradient.

#include <ATen/ATen.h>
#include <torch/library.h>

#include <optional>

#include "engine/kernels/winograd/winograd.h"

namespace acc::winograd {
namespace {

using at::Tensor;

void require_images(const Tensor& x) {
  TORCH_CHECK(x.dim() == 4 && x.scalar_type() == at::kFloat && x.is_cpu() && is_supported(),
              "acc::winograd_convolution needs images of float32 in host memory, and a CPU with AVX-512.");
  TORCH_CHECK(x.size(1) > 0 && x.size(1) % 16 == 0, "acc::winograd_convolution needs a multiple of 16 channels, not ",
              x.size(1), ".");
}

Window window_of(int64_t height, int64_t width, at::IntArrayRef padding) {
  TORCH_CHECK(height == width && (height == 3 || height == 5) && padding.size() == 2,
              "acc::winograd_convolution needs windows of 3 × 3 or 5 × 5 pixels, not ", height, " × ", width, ".");
  TORCH_CHECK(padding[0] >= 0 && padding[0] < height && padding[1] >= 0 && padding[1] < width,
              "acc::winograd_convolution cannot pad by ", padding, ".");
  return {height, padding[0], padding[1]};
}

Images images_of(const Tensor& x) { return {x.const_data_ptr<float>(), x.size(0), x.size(2), x.size(3), x.size(1)}; }

Tensor channels_last(const Tensor& x) { return x.contiguous(at::MemoryFormat::ChannelsLast); }

// If `transposed`, the gradient of a convolution with this weight and padding with respect to its images.
Tensor convolved(const Tensor& images, const Tensor& weight, const std::optional<Tensor>& bias,
                 at::IntArrayRef padding, bool transposed) {
  require_images(images);
  require_images(weight);
  auto window = window_of(weight.size(2), weight.size(3), padding);
  const auto in = weight.size(transposed ? 0 : 1), out = weight.size(transposed ? 1 : 0);
  TORCH_CHECK(images.size(1) == in && out % 16 == 0, "acc::winograd_convolution cannot convolve ", images.sizes(),
              " with ", weight.sizes(), ".");
  TORCH_CHECK(!bias || (bias->numel() == out && bias->scalar_type() == at::kFloat && bias->is_cpu()),
              "acc::winograd_convolution needs a bias of float32 with one number for each channel.");
  if (transposed) window = {window.window, window.window - 1 - window.pad_y, window.window - 1 - window.pad_x};
  const auto height = images.size(2) + 2 * window.pad_y - window.window + 1;
  const auto width = images.size(3) + 2 * window.pad_x - window.window + 1;
  TORCH_CHECK(height > 0 && width > 0, "acc::winograd_convolution: the window is larger than the images.");
  const auto x = channels_last(images), taps = channels_last(weight);
  const auto row = bias ? bias->contiguous() : Tensor();
  const auto y = at::empty({x.size(0), out, height, width}, x.options(), at::MemoryFormat::ChannelsLast);
  convolve(images_of(x), taps.const_data_ptr<float>(), transposed, bias ? row.const_data_ptr<float>() : nullptr, window,
           {y.mutable_data_ptr<float>(), height, width, out});
  return y;
}

// [out, in, *window], as a view of memory in the order of filters of tfjs: [*window, in, out].
Tensor gradient_of_weight(const Tensor& dy, const Tensor& images, at::IntArrayRef sizes, at::IntArrayRef padding) {
  require_images(images);
  require_images(dy);
  TORCH_CHECK(sizes.size() == 2, "acc::winograd_convolution needs the height and the width of the window.");
  const auto window = window_of(sizes[0], sizes[1], padding);
  TORCH_CHECK(dy.size(0) == images.size(0) && dy.size(2) == images.size(2) + 2 * window.pad_y - window.window + 1 &&
                  dy.size(3) == images.size(3) + 2 * window.pad_x - window.window + 1,
              "acc::winograd_convolution: a gradient of ", dy.sizes(), " does not belong to images of ", images.sizes(), ".");
  const auto x = channels_last(images), gradient = channels_last(dy);
  const auto result = at::empty({window.window, window.window, x.size(1), dy.size(1)}, x.options());
  weight_gradient(images_of(x), images_of(gradient), window, result.mutable_data_ptr<float>());
  return result.permute({3, 2, 0, 1});
}

}  // namespace
}  // namespace acc::winograd

TORCH_LIBRARY_FRAGMENT(acc, library) {
  library.def("winograd_convolution(Tensor images, Tensor weight, Tensor? bias, int[] padding, bool transposed) -> Tensor",
              acc::winograd::convolved);
  library.def("winograd_convolution_weight_gradient(Tensor dy, Tensor images, int[] window, int[] padding) -> Tensor",
              acc::winograd::gradient_of_weight);
}
