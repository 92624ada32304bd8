#pragma once

#include <cstring>

#include "engine/kernels/product/micro_kernel.h"

// Copies parts of matrices into the layout of the kernels.
namespace acc::product {

constexpr size_t kPage = 4096;
// How many lines ahead a lane is prefetched.
constexpr int64_t kLinesAhead = 4;

// Up to 16 rows of the left matrix, or columns of the right one. Strides are in numbers.
template <typename Word>
struct Lanes {
  const typename Word::Number* data;
  int64_t lane_stride;
  int64_t stride;
};

// 16 words of 16 lanes, `stride` words apart, as 16 vectors of one word of each lane. Only the last of
// its three steps moves words between registers, the others read 4 words into a quarter of a vector.
ACC_AVX512_INLINE void load_transposed(const float* from, int64_t stride, __m512 (&x)[kVector]) {
#pragma GCC unroll 4
  for (int group = 0; group < kVector; group += 4) {
    __m512 y[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const float* at = from + group + i * stride;
      y[i] = _mm512_broadcast_f32x4(_mm_loadu_ps(at));
      y[i] = _mm512_mask_broadcast_f32x4(y[i], 0x00F0, _mm_loadu_ps(at + 4 * stride));
      y[i] = _mm512_mask_broadcast_f32x4(y[i], 0x0F00, _mm_loadu_ps(at + 8 * stride));
      y[i] = _mm512_mask_broadcast_f32x4(y[i], 0xF000, _mm_loadu_ps(at + 12 * stride));
    }
    const auto low = _mm512_unpacklo_ps(y[0], y[1]), low_next = _mm512_unpacklo_ps(y[2], y[3]);
    const auto high = _mm512_unpackhi_ps(y[0], y[1]), high_next = _mm512_unpackhi_ps(y[2], y[3]);
    x[group] = _mm512_shuffle_ps(low, low_next, 0x44);
    x[group + 1] = _mm512_shuffle_ps(low, low_next, 0xEE);
    x[group + 2] = _mm512_shuffle_ps(high, high_next, 0x44);
    x[group + 3] = _mm512_shuffle_ps(high, high_next, 0xEE);
  }
}

// Lanes whose numbers are adjacent.
template <typename Word>
ACC_AVX512 void pack_adjacent(const Lanes<Word>& lanes, int count, int64_t numbers, float* to, int64_t to_stride,
                              __mmask16 mask) {
  int64_t k = 0;
  // Lines that are a multiple of a page apart share 8 places of the L1 cache, so each is read at once.
  const bool shares_places = lanes.lane_stride * sizeof(typename Word::Number) % kPage == 0;
  if (count == kVector && !shares_places && lanes.lane_stride % Word::kNumbers == 0) {
    for (; k + kVector * Word::kNumbers <= numbers; k += kVector * Word::kNumbers, to += kVector * to_stride) {
      __m512 x[kVector];
      load_transposed(reinterpret_cast<const float*>(lanes.data + k), lanes.lane_stride / Word::kNumbers, x);
#pragma GCC unroll 16
      for (int i = 0; i < kVector; ++i) _mm512_mask_storeu_ps(to + i * to_stride, mask, x[i]);
    }
  }
  for (; k < numbers; k += kVector * Word::kNumbers) {
    __m512 x[kVector];
#pragma GCC unroll 16
    for (int i = 0; i < kVector; ++i) {
      if (i < count) _mm_prefetch(reinterpret_cast<const char*>(lanes.data + i * lanes.lane_stride + k + kLinesAhead * 16 * Word::kNumbers), _MM_HINT_T1);
      x[i] = i < count ? Word::load_words(lanes.data + i * lanes.lane_stride + k, numbers - k) : _mm512_setzero_ps();
    }
    avx512::transpose(x);
    const int64_t words = (numbers - k + Word::kNumbers - 1) / Word::kNumbers;
#pragma GCC unroll 16
    for (int i = 0; i < kVector; ++i) {
      if (i < words) _mm512_mask_storeu_ps(to + i * to_stride, mask, x[i]);
    }
    to += kVector * to_stride;
  }
}

// Lanes that are adjacent themselves.
template <typename Word>
ACC_AVX512 void pack_rows(const Lanes<Word>& lanes, int count, int64_t numbers, float* to, int64_t to_stride,
                          __mmask16 mask) {
  const auto given = avx512::lanes_below(count);
  const auto* from = lanes.data;
  const int64_t whole = numbers / Word::kNumbers;
  for (int64_t k = 0; k < whole; ++k, from += Word::kNumbers * lanes.stride, to += to_stride) {
    _mm512_mask_storeu_ps(to, mask, Word::load(from, lanes.stride, given));
  }
  if constexpr (Word::kNumbers == 2) {
    if (numbers % 2 != 0) _mm512_mask_storeu_ps(to, mask, Word::load_half(from, given));
  }
}

template <typename Word>
void pack_numbers(const Lanes<Word>& lanes, int count, int64_t numbers, float* to, int64_t to_stride, int width) {
  const int64_t words = (numbers + Word::kNumbers - 1) / Word::kNumbers;
  for (int64_t k = 0; k < words; ++k) std::memset(to + k * to_stride, 0, static_cast<size_t>(width) * sizeof(float));
  for (int64_t k = 0; k < numbers; ++k) {
    auto* word = to + k / Word::kNumbers * to_stride;
    for (int i = 0; i < count; ++i) {
      const auto number = lanes.data[i * lanes.lane_stride + k * lanes.stride];
      std::memcpy(reinterpret_cast<typename Word::Number*>(word + i) + k % Word::kNumbers, &number, sizeof(number));
    }
  }
}

// Writes `numbers` numbers of `count` lanes as words of `width` lanes each, `to_stride` words apart.
// The other lanes are 0.
template <typename Word>
void pack_lanes(const Lanes<Word>& lanes, int count, int64_t numbers, float* to, int64_t to_stride, int width) {
  const auto mask = avx512::lanes_below(width);
  if (lanes.stride == 1) pack_adjacent(lanes, count, numbers, to, to_stride, mask);
  else if (lanes.lane_stride == 1) pack_rows(lanes, count, numbers, to, to_stride, mask);
  else pack_numbers(lanes, count, numbers, to, to_stride, width);
}

}  // namespace acc::product
