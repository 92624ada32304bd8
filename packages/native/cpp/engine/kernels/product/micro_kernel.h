#pragma once

#include "engine/processor/avx512.h"

#include <array>
#include <cstdint>
#include <utility>

// GCC 12 takes the undefined operands of its own intrinsics for mistakes (its bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

// The kernels: the sums of one block of rows and one panel of columns.
//
// Both operands consist of 32-bit words: of float32, or of pairs of bfloat16 that are adjacent in k.
namespace acc::product {

// The number of words in a vector.
constexpr int kVector = avx512::kLanes;
// With the most rows and columns, 28 of the 32 registers hold sums.
constexpr int kMaxRows = 14;
constexpr int kMaxVectors = 2;
constexpr int kPanel = kMaxVectors * kVector;
// How many words ahead the rows of an unpacked panel are prefetched.
constexpr int kAhead = 12;

struct Floats {
  using Number = float;
  static constexpr int kNumbers = 1;

  ACC_AVX512_INLINE static __m512 add_product(__m512 sum, __m512 left, __m512 right) {
    return _mm512_fmadd_ps(left, right, sum);
  }
  // The word of each of 16 columns, from a row-major matrix.
  ACC_AVX512_INLINE static __m512 load(const float* source, int64_t /*stride*/, __mmask16 columns) {
    return _mm512_maskz_loadu_ps(columns, source);
  }
  // Up to 16 adjacent words, which hold `count` numbers.
  ACC_AVX512_INLINE static __m512 load_words(const float* source, int64_t count) {
    return _mm512_maskz_loadu_ps(avx512::lanes_below(count), source);
  }
  ACC_AVX512_INLINE static __m512 load_numbers(const float* source, __mmask16 mask) {
    return _mm512_maskz_loadu_ps(mask, source);
  }
  ACC_AVX512_INLINE static void store_numbers(float* to, __mmask16 mask, __m512 x) { _mm512_mask_storeu_ps(to, mask, x); }
};

struct Pairs {
  using Number = uint16_t;
  static constexpr int kNumbers = 2;

  ACC_AVX512_INLINE static __m512 add_product(__m512 sum, __m512 left, __m512 right) {
    return _mm512_dpbf16_ps(sum, (__m512bh)left, (__m512bh)right);
  }
  ACC_AVX512_INLINE static __m512 load(const uint16_t* source, int64_t stride, __mmask16 columns) {
    const auto even = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(columns, source));
    const auto odd = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(columns, source + stride));
    return _mm512_castsi512_ps(_mm512_or_si512(even, _mm512_slli_epi32(odd, 16)));
  }
  // The last word of an odd depth: its second half is 0.
  ACC_AVX512_INLINE static __m512 load_half(const uint16_t* source, __mmask16 columns) {
    return _mm512_castsi512_ps(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(columns, source)));
  }
  ACC_AVX512_INLINE static __m512 load_words(const uint16_t* source, int64_t count) {
    const __mmask32 mask = count >= 2 * kVector ? 0xFFFFFFFFu : (1u << count) - 1;
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(mask, source));
  }
  ACC_AVX512_INLINE static __m512 load_numbers(const uint16_t* source, __mmask16 mask) {
    const auto bits = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, source));
    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
  }
  ACC_AVX512_INLINE static void store_numbers(uint16_t* to, __mmask16 mask, __m512 x) {
    _mm256_mask_storeu_epi16(to, mask, (__m256i)_mm512_cvtneps_pbh(x));
  }
};

// A panel of the right matrix. If `source` is given, the panel is [numbers, columns] in memory, and
// the kernel packs it while it computes.
template <typename Word>
struct Panel {
  float* packed;
  const typename Word::Number* source;
  int64_t stride;
  // The columns of the last vector.
  __mmask16 last;
};

// Where a kernel writes: the sums [rows, kPanel], or if `out` is given, the numbers of the result, to which
// it may add.
template <typename Word>
struct Target {
  float* sums;
  typename Word::Number* out;
  int64_t stride;
  bool is_added;
};

template <typename Word>
using Kernel = void (*)(const float* left, const Panel<Word>& panel, int64_t words, const Target<Word>& target);

// `left` is [words, kRows].
template <typename Word, int kRows, int kVectors, bool kIsPacked>
ACC_AVX512 void multiply_block(const float* left, const Panel<Word>& panel, int64_t words, const Target<Word>& target) {
  __m512 sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) sum[i][j] = _mm512_setzero_ps();
  }
  float* packed = panel.packed;
  const auto* source = panel.source;
  const int64_t stride = panel.stride;
  const __mmask16 last = panel.last;
  for (int64_t k = 0; k < words; ++k) {
    __m512 right[kVectors];
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      if constexpr (kIsPacked) {
        right[j] = _mm512_load_ps(packed + j * kVector);
      } else {
        right[j] = Word::load(source + j * kVector, stride, j + 1 < kVectors ? 0xFFFF : last);
        _mm512_store_ps(packed + j * kVector, right[j]);
      }
    }
    if constexpr (!kIsPacked) {
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) {
        // Two lines: the columns of float32, or the rows of a pair.
        const auto line = Word::kNumbers == 1 ? j * kVector : j * stride;
        _mm_prefetch(reinterpret_cast<const char*>(source + kAhead * Word::kNumbers * stride + line), _MM_HINT_T0);
      }
      source += Word::kNumbers * stride;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const __m512 factor = _mm512_set1_ps(left[i]);
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) sum[i][j] = Word::add_product(sum[i][j], factor, right[j]);
    }
    left += kRows;
    packed += kVectors * kVector;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      if (target.out) {
        auto* out = target.out + i * target.stride + j * kVector;
        const __mmask16 columns = j + 1 < kVectors ? 0xFFFF : last;
        const auto x = target.is_added ? _mm512_add_ps(Word::load_numbers(out, columns), sum[i][j]) : sum[i][j];
        Word::store_numbers(out, columns, x);
      } else {
        _mm512_store_ps(target.sums + i * kPanel + j * kVector, sum[i][j]);
      }
    }
  }
}

// kernels[rows - 1][vectors - 1]
template <typename Word>
using Kernels = std::array<std::array<Kernel<Word>, kMaxVectors>, kMaxRows>;

template <typename Word, bool kIsPacked, int... kRows>
constexpr Kernels<Word> all_kernels(std::integer_sequence<int, kRows...>) {
  return {{{multiply_block<Word, kRows + 1, 1, kIsPacked>, multiply_block<Word, kRows + 1, 2, kIsPacked>}...}};
}

template <typename Word, bool kIsPacked>
inline constexpr Kernels<Word> kKernels = all_kernels<Word, kIsPacked>(std::make_integer_sequence<int, kMaxRows>{});

}  // namespace acc::product
