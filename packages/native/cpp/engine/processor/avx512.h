#pragma once

// What code for AVX-512 shares. It is compiled for these instructions whatever the rest is compiled for,
// and runs where `is_supported()` is true.

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define ACC_HAS_AVX512

// GCC 12 warns about its own header.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

// Only the code for bfloat16 contains instructions of AVX512_BF16.
#define ACC_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define ACC_AVX512_INLINE ACC_AVX512 __attribute__((always_inline)) inline

namespace acc::avx512 {

// The number of 32-bit words in a vector.
inline constexpr int kLanes = 16;

inline bool is_supported() {
  static const bool has_all = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has_all;
}

// Whether products of bfloat16 run, too.
inline bool has_bfloat16() {
  static const bool has_products = is_supported() && __builtin_cpu_supports("avx512bf16");
  return has_products;
}

// The first `count` lanes: none if it is negative, all from kLanes on.
inline __mmask16 lanes_below(int64_t count) {
  return count >= kLanes ? 0xFFFF : count <= 0 ? 0 : static_cast<__mmask16>((1u << count) - 1);
}

// Transposes 16 vectors of 16 words.
ACC_AVX512_INLINE void transpose(__m512 (&x)[kLanes]) {
  __m512 y[kLanes];
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; i += 2) {
    y[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kLanes; i += 4) {
    x[i] = _mm512_shuffle_ps(y[i], y[i + 2], 0x44);
    x[i + 1] = _mm512_shuffle_ps(y[i], y[i + 2], 0xEE);
    x[i + 2] = _mm512_shuffle_ps(y[i + 1], y[i + 3], 0x44);
    x[i + 3] = _mm512_shuffle_ps(y[i + 1], y[i + 3], 0xEE);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    y[i] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0x88);
    y[i + 4] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0xDD);
    y[i + 8] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0x88);
    y[i + 12] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0xDD);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    x[i] = _mm512_shuffle_f32x4(y[i], y[i + 8], 0x88);
    x[i + 4] = _mm512_shuffle_f32x4(y[i + 4], y[i + 12], 0x88);
    x[i + 8] = _mm512_shuffle_f32x4(y[i], y[i + 8], 0xDD);
    x[i + 12] = _mm512_shuffle_f32x4(y[i + 4], y[i + 12], 0xDD);
  }
}

}  // namespace acc::avx512

#endif
