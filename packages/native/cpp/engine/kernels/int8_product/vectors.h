#pragma once

#include "engine/processor/avx512.h"

#ifdef ACC_HAS_AVX512

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "engine/kernels/int8_product/rounding.h"

// As ACC_AVX512, whose functions it inlines.
#define ACC_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx512vnni")))
#define ACC_VNNI_INLINE ACC_VNNI __attribute__((always_inline)) inline

// Rounding, packing and products in AVX-512 with VNNI. Its instruction adds four products of an unsigned and
// a signed byte to each of 16 sums. A word has four numbers of a lane that are adjacent in k. The words of the
// right matrix have 128 added to each byte, and what this adds to the sums is subtracted at the end.
namespace acc::int8 {

inline constexpr int kLanes = avx512::kLanes;
inline constexpr int kWordNumbers = 4;
// With the most rows and columns, 28 of the 32 registers hold sums.
inline constexpr int kMaxRows = 14;
inline constexpr int kMaxVectors = 2;
inline constexpr int kPanel = kMaxVectors * kLanes;

inline bool are_supported() {
  static const bool has_all = avx512::is_supported() && __builtin_cpu_supports("avx512vnni");
  return has_all;
}

ACC_VNNI_INLINE __m512 load(const float* from, __mmask16 mask) { return _mm512_maskz_loadu_ps(mask, from); }
ACC_VNNI_INLINE __m512 load(const uint16_t* from, __mmask16 mask) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from)), 16));
}

ACC_VNNI_INLINE __m512i magnitudes(__m512 x) {
  return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7FFFFFFF));
}

// The numbers of up to 16 lanes at places of k, or of one lane at 16 places.
struct Rounding {
  __m512 factor;
  __m512i key;
};

template <bool kIsStochastic>
ACC_VNNI_INLINE __m512i rounded(__m512 x, __m512i place, const Rounding& lane) {
  if constexpr (!kIsStochastic) {
    // NaN becomes the least integer, whose lowest byte is 0.
    return _mm512_cvtps_epi32(_mm512_mul_ps(x, lane.factor));
  } else {
    auto bits = _mm512_add_epi32(_mm512_xor_si512(_mm512_castps_si512(x), lane.key),
                                 _mm512_mullo_epi32(place, _mm512_set1_epi32(static_cast<int>(0x85EBCA6Bu))));
    bits = _mm512_mullo_epi32(_mm512_xor_si512(bits, _mm512_srli_epi32(bits, 16)), _mm512_set1_epi32(0x7FEB352D));
    bits = _mm512_mullo_epi32(_mm512_xor_si512(bits, _mm512_srli_epi32(bits, 15)),
                              _mm512_set1_epi32(static_cast<int>(0x846CA68Bu)));
    bits = _mm512_xor_si512(bits, _mm512_srli_epi32(bits, 16));
    const auto random = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srli_epi32(bits, 8)), _mm512_set1_ps(0x1p-24f));
    const auto sum = _mm512_fmadd_ps(x, lane.factor, random);
    const auto whole = _mm512_cvt_roundps_epi32(sum, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    // NaN stays the least integer, whose lowest byte is 0.
    const auto least = _mm512_mask_mov_epi32(_mm512_set1_epi32(-127), _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q), whole);
    return _mm512_max_epi32(least, _mm512_min_epi32(whole, _mm512_set1_epi32(127)));
  }
}

// Where packed words are written: `width` lanes of each word, `stride` words apart.
struct Packed {
  int32_t* to;
  int64_t stride;
  int width;
  // Added to each byte by exclusive or: 128 for the right matrix.
  int32_t offset;
};

// Rounds `numbers` numbers of up to 16 lanes, of which the first has the place `first`. The numbers of a lane
// are adjacent. Adds up the integers of each lane in `sums`.
template <typename Number, bool kIsStochastic>
ACC_VNNI void pack_adjacent(const Number* from, int64_t lane_stride, int count, int64_t first, int64_t numbers,
                            const LaneScale* lanes, const Packed& packed, int32_t* sums) {
  const auto mask = avx512::lanes_below(packed.width);
  const auto steps = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto offset = _mm512_set1_epi32(packed.offset);
  auto* to = packed.to;
  auto sum = _mm512_setzero_si512();
  for (int64_t k = 0; k < numbers; k += kLanes * kWordNumbers) {
    __m512 x[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      x[i] = _mm512_setzero_ps();
      if (i >= count) continue;
      const Rounding lane{_mm512_set1_ps(lanes[i].factor), _mm512_set1_epi32(static_cast<int>(lanes[i].key))};
      __m128i quarters[4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const auto at = k + j * kLanes;
        const auto there = avx512::lanes_below(numbers - at);
        const auto place = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(first + at)), steps);
        const auto integers = rounded<kIsStochastic>(load(from + i * lane_stride + at, there), place, lane);
        // Random numbers would round missing zeros, too.
        quarters[j] = _mm512_cvtepi32_epi8(_mm512_maskz_mov_epi32(there, integers));
      }
      auto bytes = _mm512_castsi128_si512(quarters[0]);
      bytes = _mm512_inserti32x4(bytes, quarters[1], 1);
      bytes = _mm512_inserti32x4(bytes, quarters[2], 2);
      x[i] = _mm512_castsi512_ps(_mm512_inserti32x4(bytes, quarters[3], 3));
    }
    avx512::transpose(x);
    const auto words = (numbers - k + kWordNumbers - 1) / kWordNumbers;
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if (i >= words) break;
      const auto word = _mm512_castps_si512(x[i]);
      sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(1), word);
      _mm512_mask_storeu_epi32(to + i * packed.stride, mask, _mm512_xor_si512(word, offset));
    }
    to += kLanes * packed.stride;
  }
  _mm512_mask_storeu_epi32(sums, mask, _mm512_add_epi32(sum, _mm512_maskz_loadu_epi32(mask, sums)));
}

// The same for lanes that are adjacent, `stride` numbers apart in k.
template <typename Number, bool kIsStochastic>
ACC_VNNI void pack_rows(const Number* from, int64_t stride, int count, int64_t first, int64_t numbers,
                        const LaneScale* lanes, const Packed& packed, int32_t* sums) {
  const auto mask = avx512::lanes_below(packed.width), given = avx512::lanes_below(count);
  alignas(64) float factors[kLanes] = {};
  alignas(64) uint32_t keys[kLanes] = {};
  for (int i = 0; i < count; ++i) {
    factors[i] = lanes[i].factor;
    keys[i] = lanes[i].key;
  }
  const Rounding lane{_mm512_load_ps(factors), _mm512_load_si512(keys)};
  const auto low = _mm512_set1_epi32(0xFF), offset = _mm512_set1_epi32(packed.offset);
  auto* to = packed.to;
  auto sum = _mm512_setzero_si512();
  for (int64_t k = 0; k < numbers; k += kWordNumbers, to += packed.stride) {
    auto word = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int j = 0; j < kWordNumbers; ++j) {
      if (k + j >= numbers) break;
      const auto x = load(from + (k + j) * stride, given);
      const auto place = _mm512_set1_epi32(static_cast<int>(first + k + j));
      const auto byte = _mm512_and_si512(_mm512_maskz_mov_epi32(given, rounded<kIsStochastic>(x, place, lane)), low);
      word = _mm512_or_si512(word, _mm512_slli_epi32(byte, 8 * j));
    }
    sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(1), word);
    _mm512_mask_storeu_epi32(to, mask, _mm512_xor_si512(word, offset));
  }
  _mm512_mask_storeu_epi32(sums, mask, _mm512_add_epi32(sum, _mm512_maskz_loadu_epi32(mask, sums)));
}

// The bits of the largest magnitude of adjacent numbers.
template <typename Number>
ACC_VNNI uint32_t largest_of(const Number* from, int64_t numbers) {
  auto largest = _mm512_setzero_si512(), other = largest;
  int64_t k = 0;
  for (; k + 2 * kLanes <= numbers; k += 2 * kLanes) {
    largest = _mm512_max_epi32(largest, magnitudes(load(from + k, 0xFFFF)));
    other = _mm512_max_epi32(other, magnitudes(load(from + k + kLanes, 0xFFFF)));
  }
  for (; k < numbers; k += kLanes) {
    largest = _mm512_max_epi32(largest, magnitudes(load(from + k, avx512::lanes_below(numbers - k))));
  }
  return static_cast<uint32_t>(_mm512_reduce_max_epi32(_mm512_max_epi32(largest, other)));
}

// The bits of the largest magnitude so far of each of adjacent lanes, and a number more of each.
template <typename Number>
ACC_VNNI void add_to_largest(const Number* from, int64_t lanes, uint32_t* largest) {
  for (int64_t i = 0; i < lanes; i += kLanes) {
    const auto mask = avx512::lanes_below(lanes - i);
    const auto before = _mm512_maskz_loadu_epi32(mask, largest + i);
    _mm512_mask_storeu_epi32(largest + i, mask, _mm512_max_epi32(before, magnitudes(load(from + i, mask))));
  }
}

using Kernel = void (*)(const int32_t* left, const int32_t* right, int64_t words, int32_t* sums);

// Writes the sums [kRows, kPanel]. `left` is [words, kRows], `right` [words, kVectors · 16].
template <int kRows, int kVectors>
ACC_VNNI void multiply_block(const int32_t* left, const int32_t* right, int64_t words, int32_t* sums) {
  __m512i sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) sum[i][j] = _mm512_setzero_si512();
  }
  for (int64_t k = 0; k < words; ++k) {
    __m512i columns[kVectors];
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) columns[j] = _mm512_load_si512(right + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const auto word = _mm512_set1_epi32(left[i]);
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) sum[i][j] = _mm512_dpbusd_epi32(sum[i][j], columns[j], word);
    }
    left += kRows;
    right += kVectors * kLanes;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) _mm512_store_si512(sums + i * kPanel + j * kLanes, sum[i][j]);
  }
}

// kernels[rows - 1][vectors - 1]
using Kernels = std::array<std::array<Kernel, kMaxVectors>, kMaxRows>;

template <int... kRows>
constexpr Kernels all_kernels(std::integer_sequence<int, kRows...>) {
  return {{{multiply_block<kRows + 1, 1>, multiply_block<kRows + 1, 2>}...}};
}

inline constexpr Kernels kKernels = all_kernels(std::make_integer_sequence<int, kMaxRows>{});

}  // namespace acc::int8

#endif
