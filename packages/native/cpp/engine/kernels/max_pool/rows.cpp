#include "engine/kernels/max_pool/rows.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "engine/processor/bfloat16_rows.h"
#include "engine/processor/row_math.h"

namespace acc {
namespace {

using at::Tensor;
using c10::BFloat16;

// With fewer channels than a vector has places, libtorch's loops are faster.
constexpr int64_t kVectorPlaces = 16;

// The number of elements that justifies a separate thread.
constexpr int64_t kPoolThreadElements = 32768;

// Rows of floats and of 32-bit places are what the loops below work on, because vectors hold as many
// of one as of the other. bfloat16 and the 64-bit indices of libtorch are converted once for a row.

ACC_EVERY_CPU void widen_places(const int32_t* x, int64_t* out, int64_t count) {
  ACC_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = x[i];
}
ACC_EVERY_CPU void narrow_places(const int64_t* x, int32_t* out, int64_t count) {
  ACC_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<int32_t>(x[i]);
}

// One dim of the windows.
struct PoolAxis {
  int64_t size, outputs, window, stride, padding;

  // The part of a window that is in the image.
  int64_t begin(int64_t output) const { return std::max<int64_t>(0, output * stride - padding); }
  int64_t end(int64_t output) const { return std::min(size, output * stride - padding + window); }
  // The windows that contain an element.
  int64_t first_window(int64_t element) const {
    const auto last_before = element + padding - window;
    return last_before < 0 ? 0 : last_before / stride + 1;
  }
  int64_t end_of_windows(int64_t element) const { return std::min(outputs, (element + padding) / stride + 1); }
};

struct PoolShape {
  PoolShape(const Tensor& images, at::IntArrayRef outputs, const PoolWindows& of)
      : batch(images.size(0)), channels(images.size(1)),
        height{images.size(2), outputs[0], of.window[0], of.stride[0], of.padding[0]},
        width{images.size(3), outputs[1], of.window[1], of.stride[1], of.padding[1]} {}

  int64_t batch, channels;
  PoolAxis height, width;
};

// The maxima so far of the windows of one row, and where they are.
struct Maxima {
  float* value;
  int32_t* place;
};

// Compares the windows with row `y` of an image.
ACC_EVERY_CPU void take_larger_row(const float* image_row, int64_t y, const PoolShape& of, Maxima of_windows) {
  const auto channels = of.channels;
  for (int64_t column = 0; column < of.width.outputs; ++column) {
    float* const value = of_windows.value + column * channels;
    int32_t* const place = of_windows.place + column * channels;
    for (auto x = of.width.begin(column); x < of.width.end(column); ++x) {
      const float* const from = image_row + x * channels;
      const auto here = static_cast<int32_t>(y * of.width.size + x);
      ACC_INDEPENDENT
      for (int64_t c = 0; c < channels; ++c) {
        const bool is_larger = from[c] > value[c];
        place[c] = is_larger ? here : place[c];
        value[c] = is_larger ? from[c] : value[c];
      }
    }
  }
}

// Adds the gradients of the windows of one row whose maximum is in row `y` to the gradient of that row.
ACC_EVERY_CPU void add_gradients_row(const float* dy, const int32_t* places, const PoolShape& of, int64_t y, float* grad) {
  const auto channels = of.channels;
  for (int64_t x = 0; x < of.width.size; ++x) {
    float* const to = grad + x * channels;
    const auto here = static_cast<int32_t>(y * of.width.size + x);
    for (auto column = of.width.first_window(x); column < of.width.end_of_windows(x); ++column) {
      const float* const from = dy + column * channels;
      const int32_t* const place = places + column * channels;
      ACC_INDEPENDENT
      for (int64_t c = 0; c < channels; ++c) to[c] += place[c] == here ? from[c] : 0.f;
    }
  }
}

struct PoolScratch {
  explicit PoolScratch(const PoolShape& of)
      : image_row(of.width.size * of.channels), output_row(of.width.outputs * of.channels), places(output_row.size()) {}
  std::vector<float> image_row, output_row;
  std::vector<int32_t> places;
};

// Calls compute with each row of `rows` in each image.
template <typename Compute>
void for_image_rows(const PoolShape& of, int64_t rows, const Compute& compute) {
  const auto elements = of.width.size * of.channels;
  const auto grain = std::max<int64_t>(1, kPoolThreadElements / std::max<int64_t>(1, elements));
  at::parallel_for(0, of.batch * rows, grain, [&](int64_t begin, int64_t end) {
    PoolScratch scratch(of);
    for (int64_t row = begin; row < end; ++row) compute(row / rows, row % rows, scratch);
  });
}

template <typename T>
void fill_maxima(const Tensor& images, const PoolShape& of, const Tensor& values, const Tensor& indices) {
  const auto image_row = of.width.size * of.channels, output_row = of.width.outputs * of.channels;
  const T* const from = images.const_data_ptr<T>();
  T* const to = values.mutable_data_ptr<T>();
  auto* const places = indices.mutable_data_ptr<int64_t>();
  for_image_rows(of, of.height.outputs, [&](int64_t image, int64_t row, PoolScratch& scratch) {
    const auto at = (image * of.height.outputs + row) * output_row;
    const Maxima best{rows::place_row(to + at, scratch.output_row.data()), scratch.places.data()};
    const auto top = of.height.begin(row);
    std::fill(best.value, best.value + output_row, -std::numeric_limits<float>::infinity());
    for (int64_t column = 0; column < of.width.outputs; ++column) {
      const auto first = static_cast<int32_t>(top * of.width.size + of.width.begin(column));
      std::fill_n(best.place + column * of.channels, of.channels, first);
    }
    for (auto y = top; y < of.height.end(row); ++y) {
      const T* const x = from + (image * of.height.size + y) * image_row;
      take_larger_row(rows::read_row(x, scratch.image_row.data(), image_row), y, of, best);
    }
    rows::write_row(best.value, to + at, output_row);
    widen_places(best.place, places + at, output_row);
  });
}

template <typename T>
void fill_gradient(const Tensor& dy, const Tensor& indices, const PoolShape& of, const Tensor& grad) {
  const auto image_row = of.width.size * of.channels, output_row = of.width.outputs * of.channels;
  const T* const from = dy.const_data_ptr<T>();
  const auto* const places = indices.const_data_ptr<int64_t>();
  T* const to = grad.mutable_data_ptr<T>();
  for_image_rows(of, of.height.size, [&](int64_t image, int64_t y, PoolScratch& scratch) {
    T* const out = to + (image * of.height.size + y) * image_row;
    float* const sum = rows::place_row(out, scratch.image_row.data());
    std::fill(sum, sum + image_row, 0.f);
    for (auto row = of.height.first_window(y); row < of.height.end_of_windows(y); ++row) {
      const auto at = (image * of.height.outputs + row) * output_row;
      narrow_places(places + at, scratch.places.data(), output_row);
      const float* const of_windows = rows::read_row(from + at, scratch.output_row.data(), output_row);
      add_gradients_row(of_windows, scratch.places.data(), of, y, sum);
    }
    rows::write_row(sum, out, image_row);
  });
}

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

}  // namespace

bool has_pool_rows(const Tensor& images) {
  return images.dim() == 4 && images.is_cpu() && images.size(1) >= kVectorPlaces &&
         (images.scalar_type() == at::kFloat || images.scalar_type() == at::kBFloat16) &&
         images.is_contiguous(kChannelsLast) && images.size(2) * images.size(3) <= std::numeric_limits<int32_t>::max();
}

std::tuple<Tensor, Tensor> max_pool_rows(const Tensor& images, at::IntArrayRef outputs, const PoolWindows& of) {
  const std::array<int64_t, 4> sizes{images.size(0), images.size(1), outputs[0], outputs[1]};
  const auto values = at::empty(sizes, images.options().memory_format(kChannelsLast));
  const auto indices = at::empty(sizes, images.options().dtype(at::kLong).memory_format(kChannelsLast));
  const PoolShape shape(images, outputs, of);
  if (images.scalar_type() == at::kFloat) fill_maxima<float>(images, shape, values, indices);
  else fill_maxima<BFloat16>(images, shape, values, indices);
  return {values, indices};
}

Tensor max_pool_backward_rows(const Tensor& dy, const Tensor& images, const Tensor& indices, const PoolWindows& of) {
  const auto grad = at::empty(images.sizes(), images.options().memory_format(kChannelsLast));
  const auto near_dy = dy.contiguous(kChannelsLast), near_indices = indices.contiguous(kChannelsLast);
  const PoolShape shape(images, dy.sizes().slice(2), of);
  if (dy.scalar_type() == at::kFloat) fill_gradient<float>(near_dy, near_indices, shape, grad);
  else fill_gradient<BFloat16>(near_dy, near_indices, shape, grad);
  return grad;
}

}  // namespace acc
