#include "engine/max_pool_rows.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "engine/row_math.h"

namespace acc {
namespace {

using at::Tensor;
using c10::BFloat16;

// The number of elements that justifies a separate thread.
constexpr int64_t kPoolThreadElements = 32768;

struct Best {
  float* value;
  int32_t* place;
};

ACC_INLINE float number_of(float x) { return x; }
ACC_INLINE float number_of(BFloat16 x) { return rows::of_bfloat16_bits(x.x); }
ACC_INLINE void set_number(float& x, float value) { x = value; }
ACC_INLINE void set_number(BFloat16& x, float value) { x.x = rows::bfloat16_bits(value); }

template <typename T>
ACC_INLINE void take_larger(const T* x, int32_t place, Best best, int64_t channels) {
  ACC_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) {
    const float value = number_of(x[c]);
    const bool is_larger = value > best.value[c];
    best.place[c] = is_larger ? place : best.place[c];
    best.value[c] = is_larger ? value : best.value[c];
  }
}
ACC_EVERY_CPU void larger_row(const float* x, int32_t place, Best best, int64_t channels) {
  take_larger(x, place, best, channels);
}
ACC_EVERY_CPU void larger_row(const BFloat16* x, int32_t place, Best best, int64_t channels) {
  take_larger(x, place, best, channels);
}

template <typename T>
ACC_INLINE void store(Best best, T* value, int64_t* index, int64_t channels) {
  ACC_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) set_number(value[c], best.value[c]);
  ACC_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) index[c] = best.place[c];
}
ACC_EVERY_CPU void store_row(Best best, float* value, int64_t* index, int64_t channels) {
  store(best, value, index, channels);
}
ACC_EVERY_CPU void store_row(Best best, BFloat16* value, int64_t* index, int64_t channels) {
  store(best, value, index, channels);
}

// Adds the gradients of the maxima that are at `place`.
template <typename T>
ACC_INLINE void add_of_place(const T* dy, const int64_t* index, int32_t place, float* sum, int64_t channels) {
  ACC_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) sum[c] += static_cast<int32_t>(index[c]) == place ? number_of(dy[c]) : 0.f;
}
ACC_EVERY_CPU void add_of_place_row(const float* dy, const int64_t* index, int32_t place, float* sum, int64_t channels) {
  add_of_place(dy, index, place, sum, channels);
}
ACC_EVERY_CPU void add_of_place_row(const BFloat16* dy, const int64_t* index, int32_t place, float* sum, int64_t channels) {
  add_of_place(dy, index, place, sum, channels);
}

void store_sum(const float* sum, float* out, int64_t channels) { std::copy(sum, sum + channels, out); }
ACC_EVERY_CPU void store_sum(const float* sum, BFloat16* out, int64_t channels) {
  ACC_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) set_number(out[c], sum[c]);
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

// Calls compute with a row of images or of maxima: its image and its number in it.
template <typename Compute>
void for_image_rows(int64_t batch, int64_t rows, int64_t elements, const Compute& compute) {
  const auto grain = std::max<int64_t>(1, kPoolThreadElements / std::max<int64_t>(1, elements));
  at::parallel_for(0, batch * rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) compute(row / rows, row % rows);
  });
}

template <typename T>
void row_of_maxima(const T* image, const PoolShape& of, int64_t row, T* values, int64_t* indices) {
  const auto channels = of.channels;
  std::vector<float> value(channels);
  std::vector<int32_t> place(channels);
  const Best best{value.data(), place.data()};
  for (int64_t column = 0; column < of.width.outputs; ++column) {
    const auto left = of.width.begin(column), top = of.height.begin(row);
    std::fill(value.begin(), value.end(), -std::numeric_limits<float>::infinity());
    std::fill(place.begin(), place.end(), static_cast<int32_t>(top * of.width.size + left));
    for (auto y = top; y < of.height.end(row); ++y) {
      for (auto x = left; x < of.width.end(column); ++x) {
        const auto at = y * of.width.size + x;
        larger_row(image + at * channels, static_cast<int32_t>(at), best, channels);
      }
    }
    store_row(best, values + column * channels, indices + column * channels, channels);
  }
}

// `dy` and `indices` are of one image.
template <typename T>
void row_of_gradient(const T* dy, const int64_t* indices, const PoolShape& of, int64_t y, T* grad) {
  const auto channels = of.channels;
  std::vector<float> sum(channels);
  for (int64_t x = 0; x < of.width.size; ++x) {
    std::fill(sum.begin(), sum.end(), 0.f);
    for (auto row = of.height.first_window(y); row < of.height.end_of_windows(y); ++row) {
      for (auto column = of.width.first_window(x); column < of.width.end_of_windows(x); ++column) {
        const auto at = (row * of.width.outputs + column) * channels;
        add_of_place_row(dy + at, indices + at, static_cast<int32_t>(y * of.width.size + x), sum.data(), channels);
      }
    }
    store_sum(sum.data(), grad + x * channels, channels);
  }
}

template <typename T>
void fill_maxima(const Tensor& images, const PoolShape& of, const Tensor& values, const Tensor& indices) {
  const auto row_size = of.width.outputs * of.channels, image_size = of.height.size * of.width.size * of.channels;
  const T* const from = images.const_data_ptr<T>();
  T* const to = values.mutable_data_ptr<T>();
  auto* const places = indices.mutable_data_ptr<int64_t>();
  for_image_rows(of.batch, of.height.outputs, row_size, [&](int64_t image, int64_t row) {
    const auto at = (image * of.height.outputs + row) * row_size;
    row_of_maxima(from + image * image_size, of, row, to + at, places + at);
  });
}

template <typename T>
void fill_gradient(const Tensor& dy, const Tensor& indices, const PoolShape& of, const Tensor& grad) {
  const auto row_size = of.width.size * of.channels, outputs = of.height.outputs * of.width.outputs * of.channels;
  const T* const from = dy.const_data_ptr<T>();
  const auto* const places = indices.const_data_ptr<int64_t>();
  T* const to = grad.mutable_data_ptr<T>();
  for_image_rows(of.batch, of.height.size, row_size, [&](int64_t image, int64_t row) {
    row_of_gradient(from + image * outputs, places + image * outputs, of, row, to + (image * of.height.size + row) * row_size);
  });
}

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

}  // namespace

bool has_pool_rows(const Tensor& images) {
  return images.dim() == 4 && images.is_cpu() &&
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
