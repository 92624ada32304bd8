#pragma once

#include "engine/kernels/winograd/transforms.h"

// The products at one point.
namespace acc::winograd {

// The tiles of a product, whose sums are in registers: 28 of 32 with two vectors of channels.
constexpr int kRows = 14;
// The channels of a panel of transformed filters.
constexpr int kPanel = 2 * kVector;
// How many rows of a panel ahead it is prefetched.
constexpr int kAhead = 8;

// Sums of 14 tiles for the channels of one panel. `left` is [blocks, kRows, 16]: blocks of 16 channels.
// `right` is [blocks * 16, kVectors * 16].
template <int kVectors>
ACC_AVX512 void multiply(const float* left, const float* right, int64_t blocks, float* sums, int64_t stride) {
  __m512 sum[kRows][kVectors];
#pragma GCC unroll 14
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) sum[i][j] = _mm512_setzero_ps();
  }
  for (int64_t block = 0; block < blocks; ++block, left += kRows * kVector) {
    for (int k = 0; k < kVector; ++k, right += kVectors * kVector) {
      __m512 factor[kVectors];
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) {
        factor[j] = _mm512_load_ps(right + j * kVector);
        _mm_prefetch(reinterpret_cast<const char*>(right + (kAhead * kVectors + j) * kVector), _MM_HINT_T0);
      }
#pragma GCC unroll 14
      for (int i = 0; i < kRows; ++i) {
        const auto x = _mm512_set1_ps(left[i * kVector + k]);
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j) sum[i][j] = _mm512_fmadd_ps(x, factor[j], sum[i][j]);
      }
    }
  }
#pragma GCC unroll 14
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) _mm512_store_ps(sums + i * stride + j * kVector, sum[i][j]);
  }
}

// The rows of a gradient whose sums are in registers; a divisor of 16.
constexpr int kGradientRows = 8;

// Adds to the sums [kGradientRows, kVectors * 16] the products of `tiles` tiles, in their order.
template <int kVectors>
ACC_AVX512 void add_products(const float* left, int64_t left_stride, const float* right, int64_t right_stride,
                             int64_t tiles, float* sums) {
  __m512 sum[kGradientRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kGradientRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) sum[i][j] = _mm512_load_ps(sums + i * right_stride + j * kVector);
  }
  for (int64_t tile = 0; tile < tiles; ++tile, left += left_stride, right += right_stride) {
    __m512 factor[kVectors];
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) factor[j] = _mm512_load_ps(right + j * kVector);
#pragma GCC unroll 8
    for (int i = 0; i < kGradientRows; ++i) {
      const auto x = _mm512_set1_ps(left[i]);
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) sum[i][j] = _mm512_fmadd_ps(x, factor[j], sum[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kGradientRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) _mm512_store_ps(sums + i * right_stride + j * kVector, sum[i][j]);
  }
}

}  // namespace acc::winograd
