#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

// Arithmetic on rows of floats that lie in the first cache, in plain loops which the compiler turns into vector code: for
// computations of many small steps, in which a call of an operator costs more than its work.

// Where the compiler can, a function is compiled for several kinds of CPUs and the best chosen when the addon is loaded.
// Listed are features: names of CPUs would leave out those that came later.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define ACC_EVERY_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ACC_EVERY_CPU
#endif
// Otherwise the copies of a function would call the one that was compiled for every CPU.
#define ACC_INLINE __attribute__((always_inline)) inline

namespace acc::rows {

// e^x to the last place or two: 2^n · e^r with |r| ≤ ln 2 / 2, and e^r by the polynomial of Cephes' expf (S. Moshier).
ACC_INLINE float exp(float x) {
  constexpr float kLog2E = 1.44269504088896341f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  // Adding it leaves no bits for fractions: rounds to the nearest integer, which then stands in the lowest bits.
  constexpr float kRound = 12582912.f;
  x = x < -87.f ? -87.f : x;
  x = x > 88.f ? 88.f : x;
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float of_r = p * r * r + r + 1.f;
  const auto exponent = (std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound) + 127) << 23;
  return of_r * std::bit_cast<float>(exponent);
}

ACC_INLINE float sigmoid(float x) { return 1.f / (1.f + exp(-x)); }

// By e^2x, and near 0, where that would cancel, by the polynomial of Cephes' tanhf.
ACC_INLINE float tanh(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near_zero = p * z * x + x;
  const float elsewhere = 1.f - 2.f / (exp(2.f * x) + 1.f);
  return std::fabs(x) < 0.625f ? near_zero : elsewhere;
}

// The bits of the bfloat16 next to x, of two the even one.
ACC_INLINE uint16_t bfloat16_bits(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>(x != x ? 0x7FC0 : rounded);
}

ACC_INLINE float of_bfloat16_bits(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace acc::rows
