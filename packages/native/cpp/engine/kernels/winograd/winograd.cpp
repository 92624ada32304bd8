#include "engine/kernels/winograd/winograd.h"

#include "engine/processor/avx512.h"

#ifdef ACC_HAS_AVX512

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "engine/kernels/winograd/products.h"
#include "engine/kernels/winograd/tiles.h"
#include "engine/processor/aligned_floats.h"

namespace acc::winograd {
namespace {

// Between the values of two points, so that these do not share places of the caches.
constexpr int64_t kGap = kVector;
// The tiles whose transforms a thread holds for the gradient of a weight.
constexpr int64_t kGradientTiles = 32;

// Transformed filters: for each point a matrix [in, out] in panels of 32 columns; the last may have 16.
struct Filters {
  int64_t in, out;

  int64_t size() const { return kPoints * in * out; }
  int64_t width_of(int64_t panel) const { return std::min<int64_t>(kPanel, out - panel * kPanel); }
  int64_t at(int64_t point, int64_t row, int64_t column) const {
    const auto panel = column / kPanel;
    return point * in * out + panel * kPanel * in + row * width_of(panel) + column % kPanel;
  }
};

template <int kWindow>
ACC_AVX512_INLINE void transform_taps(const float* taps, int64_t stride, bool is_turned, __m512 (&at)[kPoints]) {
  __m512 square[kWindow][kWindow];
  for (int y = 0; y < kWindow; ++y) {
    for (int x = 0; x < kWindow; ++x) {
      const auto tap = y * kWindow + x;
      square[y][x] = _mm512_loadu_ps(taps + (is_turned ? kWindow * kWindow - 1 - tap : tap) * stride);
    }
  }
  evaluate_square<kWindow>(square, at);
  for (int point = 0; point < kPoints; ++point) at[point] = times(kTapScale[point / kTile] * kTapScale[point % kTile], at[point]);
}

// A weight [out, window, window, in] as filters for a gradient, [out, in] for each point.
template <int kWindow>
ACC_AVX512 void transform_turned(const float* weight, const Filters& filters, int64_t row, float* to) {
  const auto channels = filters.out;
  for (int64_t column = 0; column < channels; column += kVector) {
    __m512 at[kPoints];
    transform_taps<kWindow>(weight + row * kWindow * kWindow * channels + column, channels, true, at);
    for (int point = 0; point < kPoints; ++point) _mm512_store_ps(to + filters.at(point, row, column), at[point]);
  }
}

// The same as filters for a convolution, [in, out]: 16 columns.
template <int kWindow>
ACC_AVX512 void transform_upright(const float* weight, const Filters& filters, int64_t column, float* to) {
  const auto channels = filters.in;
  alignas(64) float turned[kPoints][kVector][kVector];
  for (int64_t row = 0; row < channels; row += kVector) {
    for (int i = 0; i < kVector; ++i) {
      __m512 at[kPoints];
      transform_taps<kWindow>(weight + (column + i) * kWindow * kWindow * channels + row, channels, false, at);
      for (int point = 0; point < kPoints; ++point) _mm512_store_ps(turned[point][i], at[point]);
    }
    for (int point = 0; point < kPoints; ++point) {
      __m512 x[kVector];
#pragma GCC unroll 16
      for (int i = 0; i < kVector; ++i) x[i] = _mm512_load_ps(turned[point][i]);
      avx512::transpose(x);
#pragma GCC unroll 16
      for (int i = 0; i < kVector; ++i) _mm512_store_ps(to + filters.at(point, row + i, column), x[i]);
    }
  }
}

template <int kWindow>
void transform_filters(const float* weight, bool is_turned, const Filters& filters, float* to) {
  if (is_turned) {
    at::parallel_for(0, filters.in, 16, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) transform_turned<kWindow>(weight, filters, row, to);
    });
    return;
  }
  at::parallel_for(0, filters.out / kVector, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) transform_upright<kWindow>(weight, filters, block * kVector, to);
  });
}

template <int kSide>
ACC_AVX512_INLINE void finish_tile(const float* sums, int64_t stride, float* const* pixels, int64_t channel,
                                   const float* bias) {
  __m512 square[kSide][kSide];
  collect_square<kSide, false>(sums, stride, square);
  const auto added = bias ? _mm512_loadu_ps(bias + channel) : _mm512_setzero_ps();
#pragma GCC unroll 4
  for (int y = 0; y < kSide; ++y) {
#pragma GCC unroll 4
    for (int x = 0; x < kSide; ++x) _mm512_storeu_ps(pixels[y * kSide + x] + channel, _mm512_add_ps(square[y][x], added));
  }
}

// One convolution. A group of 14 tiles is transformed, multiplied at all points, and transformed back.
template <int kWindow>
class Convolution {
  static constexpr int kSide = kTile - kWindow + 1;

 public:
  Convolution(const Images& x, const float* filters, const float* bias, const Window& window, const Result& y)
      : x_(x), filters_(filters), bias_(bias), window_(window), y_(y), tiles_(x.count, y.height, y.width, kSide),
        left_stride_(kRows * x.channels + kGap), sums_stride_(kRows * y.channels + kGap) {}

  void run() const {
    at::parallel_for(0, (tiles_.count + kRows - 1) / kRows, 4, [&](int64_t begin, int64_t end) {
      const auto most = std::max(x_.channels, y_.channels);
      const auto size = static_cast<size_t>(kPoints * (left_stride_ + sums_stride_) + 2 * most);
      // A thread keeps it for its next convolution: 200 KiB with 32 and 64 channels.
      static thread_local AlignedFloats memory;
      auto* const left = memory.at_least(size);
      auto* const sums = left + kPoints * left_stride_;
      auto* const zeros = sums + kPoints * sums_stride_;
      std::fill_n(zeros, most, 0.f);
      for (int64_t group = begin; group < end; ++group) {
        transform(group * kRows, zeros, left);
        multiply_points(left, sums);
        finish(group * kRows, sums, zeros + most);
      }
    });
  }

 private:
  ACC_AVX512 void transform(int64_t first, const float* zeros, float* left) const {
    for (int i = 0; i < kRows; ++i) {
      const float* pixels[kPoints];
      find_tile<kTile>(x_.data, x_.height, x_.width, x_.channels, tiles_, first + i, window_.pad_y, window_.pad_x, zeros, pixels);
      for (int64_t channel = 0; channel < x_.channels; channel += kVector) {
        transform_square(pixels, channel, left + channel * kRows + i * kVector, left_stride_);
      }
    }
  }

  void multiply_points(const float* left, float* sums) const {
    const Filters filters{x_.channels, y_.channels};
    for (int64_t point = 0; point < kPoints; ++point) {
      for (int64_t column = 0; column < y_.channels; column += kPanel) {
        const auto* right = filters_ + filters.at(point, 0, column);
        const auto is_wide = filters.width_of(column / kPanel) == kPanel;
        const auto product = is_wide ? multiply<2> : multiply<1>;
        product(left + point * left_stride_, right, x_.channels / kVector, sums + point * sums_stride_ + column, y_.channels);
      }
    }
  }

  ACC_AVX512 void finish(int64_t first, const float* sums, float* unused) const {
    for (int i = 0; i < kRows && first + i < tiles_.count; ++i) {
      float* pixels[kSide * kSide];
      find_tile<kSide>(y_.data, y_.height, y_.width, y_.channels, tiles_, first + i, 0, 0, unused, pixels);
      for (int64_t channel = 0; channel < y_.channels; channel += kVector) {
        finish_tile<kSide>(sums + i * y_.channels + channel, sums_stride_, pixels, channel, bias_);
      }
    }
  }

  Images x_;
  const float* filters_;
  const float* bias_;
  Window window_;
  Result y_;
  Tiles tiles_;
  int64_t left_stride_, sums_stride_;
};

template <int kSide>
ACC_AVX512_INLINE void evaluate_tile(const float* const* pixels, int64_t channel, float* to, int64_t stride) {
  __m512 square[kSide][kSide], at[kPoints];
#pragma GCC unroll 4
  for (int y = 0; y < kSide; ++y) {
#pragma GCC unroll 4
    for (int x = 0; x < kSide; ++x) square[y][x] = _mm512_loadu_ps(pixels[y * kSide + x] + channel);
  }
  evaluate_square<kSide>(square, at);
#pragma GCC unroll 36
  for (int point = 0; point < kPoints; ++point) _mm512_store_ps(to + point * stride, at[point]);
}

// One gradient of a weight. All threads transform some tiles, then add their products, each at other
// points. A sum has the order of tiles.
template <int kWindow>
class WeightGradient {
  static constexpr int kSide = kTile - kWindow + 1;

 public:
  WeightGradient(const Images& x, const Images& dy, const Window& window)
      : x_(x), dy_(dy), window_(window), tiles_(x.count, dy.height, dy.width, kSide),
        chunk_(std::min<int64_t>(tiles_.count, kGradientTiles * at::get_num_threads())),
        left_stride_(chunk_ * x.channels + kGap), right_stride_(chunk_ * dy.channels + kGap),
        sums_stride_(x.channels * dy.channels + kGap) {}

  void run(float* gradient) {
    const auto most = std::max(x_.channels, dy_.channels);
    const auto memory = at::empty({kPoints * (left_stride_ + right_stride_ + sums_stride_) + most}, at::kFloat);
    left_ = memory.mutable_data_ptr<float>();
    right_ = left_ + kPoints * left_stride_;
    sums_ = right_ + kPoints * right_stride_;
    zeros_ = sums_ + kPoints * sums_stride_;
    std::fill_n(zeros_, most, 0.f);
    std::fill_n(sums_, kPoints * sums_stride_, 0.f);
    for (int64_t first = 0; first < tiles_.count; first += chunk_) {
      const auto count = std::min(chunk_, tiles_.count - first);
      at::parallel_for(0, count, 4, [&](int64_t begin, int64_t end) {
        for (int64_t tile = begin; tile < end; ++tile) transform(first + tile, tile);
      });
      at::parallel_for(0, kPoints, 4, [&](int64_t begin, int64_t end) {
        for (int64_t point = begin; point < end; ++point) add_at(point, count);
      });
    }
    at::parallel_for(0, x_.channels, 4, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) finish(row, gradient);
    });
  }

 private:
  ACC_AVX512 void transform(int64_t tile, int64_t place) const {
    const float* pixels[kPoints];
    find_tile<kTile>(x_.data, x_.height, x_.width, x_.channels, tiles_, tile, window_.pad_y, window_.pad_x,
                     static_cast<const float*>(zeros_), pixels);
    for (int64_t channel = 0; channel < x_.channels; channel += kVector) {
      transform_square(pixels, channel, left_ + place * x_.channels + channel, left_stride_);
    }
    find_tile<kSide>(dy_.data, dy_.height, dy_.width, dy_.channels, tiles_, tile, 0, 0, static_cast<const float*>(zeros_), pixels);
    for (int64_t channel = 0; channel < dy_.channels; channel += kVector) {
      evaluate_tile<kSide>(pixels, channel, right_ + place * dy_.channels + channel, right_stride_);
    }
  }

  void add_at(int64_t point, int64_t count) const {
    for (int64_t column = 0; column < dy_.channels; column += kPanel) {
      const auto* right = right_ + point * right_stride_ + column;
      const auto add = dy_.channels - column >= kPanel ? add_products<2> : add_products<1>;
      for (int64_t row = 0; row < x_.channels; row += kGradientRows) {
        add(left_ + point * left_stride_ + row, x_.channels, right, dy_.channels, count,
            sums_ + point * sums_stride_ + row * dy_.channels + column);
      }
    }
  }

  ACC_AVX512 void finish(int64_t row, float* gradient) const {
    for (int64_t column = 0; column < dy_.channels; column += kVector) {
      __m512 square[kWindow][kWindow];
      const auto place = row * dy_.channels + column;
      collect_square<kWindow, true>(sums_ + place, sums_stride_, square);
      for (int y = 0; y < kWindow; ++y) {
        for (int x = 0; x < kWindow; ++x) {
          _mm512_storeu_ps(gradient + (y * kWindow + x) * x_.channels * dy_.channels + place, square[y][x]);
        }
      }
    }
  }

  Images x_, dy_;
  Window window_;
  Tiles tiles_;
  int64_t chunk_, left_stride_, right_stride_, sums_stride_;
  float *left_ = nullptr, *right_ = nullptr, *sums_ = nullptr, *zeros_ = nullptr;
};

template <int kWindow>
void convolve_with(const Images& x, const float* weight, bool is_turned, const float* bias, const Window& window,
                   const Result& y) {
  const Filters filters{x.channels, y.channels};
  const auto memory = at::empty({filters.size()}, at::kFloat);
  auto* const transformed = memory.mutable_data_ptr<float>();
  transform_filters<kWindow>(weight, is_turned, filters, transformed);
  Convolution<kWindow>(x, transformed, bias, window, y).run();
}

}  // namespace

bool is_supported() { return avx512::is_supported(); }

void convolve(const Images& x, const float* weight, bool is_turned, const float* bias, const Window& window,
              const Result& y) {
  const auto convolve_as = window.window == 3 ? convolve_with<3> : convolve_with<5>;
  convolve_as(x, weight, is_turned, bias, window, y);
}

void weight_gradient(const Images& x, const Images& dy, const Window& window, float* gradient) {
  if (window.window == 3) WeightGradient<3>(x, dy, window).run(gradient);
  else WeightGradient<5>(x, dy, window).run(gradient);
}

}  // namespace acc::winograd

#else

namespace acc::winograd {

bool is_supported() { return false; }
void convolve(const Images&, const float*, bool, const float*, const Window&, const Result&) {}
void weight_gradient(const Images&, const Images&, const Window&, float*) {}

}  // namespace acc::winograd

#endif
