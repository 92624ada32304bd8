#pragma once

#include <array>
#include <cstdint>

#include "engine/processor/avx512.h"

// GCC 12 takes the undefined operands of its own intrinsics for mistakes (its bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

// Winograd's transforms in one dimension, of 16 channels at a time. A tile of a convolution with `r`
// taps has 6 pixels of the image and m = 7 - r pixels of the result. Polynomials with the pixels and the
// taps as coefficients are evaluated at 6 points: 0, ±3/4, ±3/2 and infinity. With these points the
// error in float32 is two to four times that of the plain sum; with the usual 0, ±1, ±2 it is twice that.
namespace acc::winograd {

constexpr int kVector = avx512::kLanes;
// The pixels of the image along a tile, which are also the points.
constexpr int kTile = 6;
constexpr int kPoints = kTile * kTile;

constexpr float kNear = 0.75f, kFar = 1.5f;
constexpr float kNear2 = kNear * kNear, kFar2 = kFar * kFar;

// The factors of evaluated taps, by point.
constexpr std::array<float, kTile> kTapScale{
    1 / (kNear2 * kFar2),
    1 / (2 * kNear2 * (kNear2 - kFar2)),
    1 / (2 * kNear2 * (kNear2 - kFar2)),
    1 / (2 * kFar2 * (kFar2 - kNear2)),
    1 / (2 * kFar2 * (kFar2 - kNear2)),
    1,
};

constexpr float power(float base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }

using Points = __m512[kTile];

ACC_AVX512_INLINE __m512 times(float factor, __m512 x) { return _mm512_mul_ps(_mm512_set1_ps(factor), x); }
ACC_AVX512_INLINE __m512 plus_times(__m512 sum, float factor, __m512 x) {
  return _mm512_fmadd_ps(_mm512_set1_ps(factor), x, sum);
}

// The transform of an image: its row for a point has the coefficients of the polynomial that is 0 at the
// other points.
ACC_AVX512_INLINE void transform_pixels(Points& x) {
  const auto near_even = plus_times(x[4], -kFar2, x[2]), near_odd = times(kNear, plus_times(x[3], -kFar2, x[1]));
  const auto far_even = plus_times(x[4], -kNear2, x[2]), far_odd = times(kFar, plus_times(x[3], -kNear2, x[1]));
  x[0] = plus_times(plus_times(x[4], -(kNear2 + kFar2), x[2]), kNear2 * kFar2, x[0]);
  x[5] = plus_times(plus_times(x[5], -(kNear2 + kFar2), x[3]), kNear2 * kFar2, x[1]);
  x[1] = _mm512_add_ps(near_even, near_odd);
  x[2] = _mm512_sub_ps(near_even, near_odd);
  x[3] = _mm512_add_ps(far_even, far_odd);
  x[4] = _mm512_sub_ps(far_even, far_odd);
}

// The values at the points of the polynomial with these coefficients.
template <int kCount>
ACC_AVX512_INLINE void evaluate(const __m512 (&coefficients)[kCount], Points& at) {
  auto near_even = coefficients[0], far_even = coefficients[0];
  auto near_odd = times(kNear, coefficients[1]), far_odd = times(kFar, coefficients[1]);
#pragma GCC unroll 4
  for (int i = 2; i < kCount; ++i) {
    auto& near = i % 2 == 0 ? near_even : near_odd;
    auto& far = i % 2 == 0 ? far_even : far_odd;
    near = plus_times(near, power(kNear, i), coefficients[i]);
    far = plus_times(far, power(kFar, i), coefficients[i]);
  }
  at[0] = coefficients[0];
  at[1] = _mm512_add_ps(near_even, near_odd);
  at[2] = _mm512_sub_ps(near_even, near_odd);
  at[3] = _mm512_add_ps(far_even, far_odd);
  at[4] = _mm512_sub_ps(far_even, far_odd);
  at[5] = coefficients[kCount - 1];
}

// The transpose of `evaluate`: from products at the points to the result.
template <int kCount>
ACC_AVX512_INLINE void collect(const Points& at, __m512 (&result)[kCount]) {
  const auto near_even = _mm512_add_ps(at[1], at[2]), near_odd = _mm512_sub_ps(at[1], at[2]);
  const auto far_even = _mm512_add_ps(at[3], at[4]), far_odd = _mm512_sub_ps(at[3], at[4]);
  result[0] = _mm512_add_ps(at[0], _mm512_add_ps(near_even, far_even));
#pragma GCC unroll 4
  for (int i = 1; i < kCount; ++i) {
    const auto near = times(power(kNear, i), i % 2 == 0 ? near_even : near_odd);
    result[i] = plus_times(near, power(kFar, i), i % 2 == 0 ? far_even : far_odd);
  }
  result[kCount - 1] = _mm512_add_ps(result[kCount - 1], at[5]);
}

// In two dimensions. `from` are the pixels of a square, and the value of point p is `to + p * stride`.
ACC_AVX512_INLINE void transform_square(const float* const* from, int64_t channel, float* to, int64_t stride) {
  Points rows[kTile];
#pragma GCC unroll 6
  for (int y = 0; y < kTile; ++y) {
#pragma GCC unroll 6
    for (int x = 0; x < kTile; ++x) rows[y][x] = _mm512_loadu_ps(from[y * kTile + x] + channel);
    transform_pixels(rows[y]);
  }
#pragma GCC unroll 6
  for (int x = 0; x < kTile; ++x) {
    Points column;
#pragma GCC unroll 6
    for (int y = 0; y < kTile; ++y) column[y] = rows[y][x];
    transform_pixels(column);
#pragma GCC unroll 6
    for (int y = 0; y < kTile; ++y) _mm512_store_ps(to + (y * kTile + x) * stride, column[y]);
  }
}

template <int kCount>
ACC_AVX512_INLINE void evaluate_square(const __m512 (&square)[kCount][kCount], __m512 (&at)[kPoints]) {
  Points rows[kCount];
#pragma GCC unroll 5
  for (int y = 0; y < kCount; ++y) evaluate<kCount>(square[y], rows[y]);
#pragma GCC unroll 6
  for (int x = 0; x < kTile; ++x) {
    __m512 column[kCount];
    Points points;
#pragma GCC unroll 5
    for (int y = 0; y < kCount; ++y) column[y] = rows[y][x];
    evaluate<kCount>(column, points);
#pragma GCC unroll 6
    for (int y = 0; y < kTile; ++y) at[y * kTile + x] = points[y];
  }
}

// The value of point p is `from + p * stride`.
template <int kCount, bool kIsScaled>
ACC_AVX512_INLINE void collect_square(const float* from, int64_t stride, __m512 (&square)[kCount][kCount]) {
  __m512 rows[kTile][kCount];
#pragma GCC unroll 6
  for (int y = 0; y < kTile; ++y) {
    Points row;
#pragma GCC unroll 6
    for (int x = 0; x < kTile; ++x) {
      row[x] = _mm512_load_ps(from + (y * kTile + x) * stride);
      if constexpr (kIsScaled) row[x] = times(kTapScale[y] * kTapScale[x], row[x]);
    }
    collect<kCount>(row, rows[y]);
  }
#pragma GCC unroll 5
  for (int x = 0; x < kCount; ++x) {
    Points column;
    __m512 result[kCount];
#pragma GCC unroll 6
    for (int y = 0; y < kTile; ++y) column[y] = rows[y][x];
    collect<kCount>(column, result);
#pragma GCC unroll 5
    for (int y = 0; y < kCount; ++y) square[y][x] = result[y];
  }
}

}  // namespace acc::winograd
