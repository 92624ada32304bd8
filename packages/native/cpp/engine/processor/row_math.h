#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

// Arithmetic on rows of floats in the L1 cache. The compiler turns the plain loops into vector
// code. It is for computations of many small steps, in which an operator call would cost more than
// its work.

// If the compiler supports it, a function is compiled for several instruction sets, and the best
// one is chosen when the addon is loaded. The list names features: a list of CPU models would leave
// out later models.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define ACC_EVERY_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ACC_EVERY_CPU
#endif
// Without inlining, every clone of a function would call the baseline version of this one.
#define ACC_INLINE __attribute__((always_inline)) inline

// For loops in which elements do not depend on each other, so that results may lie where operands lie.
#if defined(__clang__)
#define ACC_INDEPENDENT _Pragma("clang loop vectorize(enable)")
#else
#define ACC_INDEPENDENT _Pragma("GCC ivdep")
#endif

// Declares functions, and their text as a string: programs for GPUs are compiled from the text
// (fused/cuda_source.cpp). So both compute with the same formulas. The text may use nothing but what
// is text itself, and the helpers below.
#define ACC_ALSO_AS_TEXT(text, ...) \
  __VA_ARGS__                       \
  inline constexpr char text[] = #__VA_ARGS__;

namespace acc::rows {

// fused/cuda_text.h has these for GPUs.
ACC_INLINE int32_t bits_of(float x) { return std::bit_cast<int32_t>(x); }
ACC_INLINE float of_bits(int32_t bits) { return std::bit_cast<float>(bits); }
ACC_INLINE float root_of(float x) { return std::sqrt(x); }
ACC_INLINE float magnitude_of(float x) { return std::fabs(x); }
ACC_INLINE float with_sign_of(float x, float sign) { return std::copysign(x, sign); }

ACC_ALSO_AS_TEXT(kText,
// A number x as n · ln 2 + r with |r| ≤ ln 2 / 2, and e^r.
struct ExpParts {
  int32_t n;
  float of_r;
};

// e^r is the polynomial of Cephes' expf (S. Moshier).
ACC_INLINE ExpParts exp_parts(float x) {
  constexpr float kLog2E = 1.44269504088896341f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  // Adding it leaves no fraction bits. This rounds to the nearest integer, which then is in the
  // lowest bits.
  constexpr float kRound = 12582912.f;
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return {bits_of(shifted) - bits_of(kRound), p * r * r + r + 1.f};
}

// 2^n for the exponent of a normal number.
ACC_INLINE float power_of_two(int32_t n) { return of_bits((n + 127) << 23); }

// e^x, accurate to one or two units in the last place, for x from -87 to 88. Others count as the
// nearest of these.
ACC_INLINE float exp(float x) {
  x = x < -87.f ? -87.f : x;
  x = x > 88.f ? 88.f : x;
  const auto [n, of_r] = exp_parts(x);
  return of_r * power_of_two(n);
}

// e^x for every x, with 0 and infinity.
ACC_INLINE float exp_of_any(float x) {
  x = x < -104.f ? -104.f : x;
  x = x > 89.f ? 89.f : x;
  const auto [n, of_r] = exp_parts(x);
  const int32_t half = n >> 1;
  return of_r * power_of_two(half) * power_of_two(n - half);
}

// The natural logarithm, accurate to one or two units in the last place: n · ln 2 + log(m), where m is
// between √½ and √2. log(m) is the polynomial of Cephes' logf (S. Moshier).
ACC_INLINE float log(float x) {
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  const float infinity = of_bits(0x7F800000);
  const auto given = bits_of(x);
  // A denormal number is its bits · 2^-149. Its sign bit is 0.
  const bool is_denormal = (given > 0) & (given < 0x00800000);
  const auto bits = is_denormal ? bits_of(static_cast<float>(given)) : given;
  // √½ has these bits. The difference counts from the exponent of √½.
  const int32_t from_root = bits - 0x3F3504F3;
  const int32_t exponent = (from_root >> 23) + (is_denormal ? -149 : 0);
  const float m = of_bits((from_root & 0x007FFFFF) + 0x3F3504F3) - 1.f;
  const auto n = static_cast<float>(exponent);
  const float z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float of_m = m + (p * m * z + n * kLn2Low - 0.5f * z);
  float result = of_m + n * kLn2High;
  result = given == 0x7F800000 ? infinity : result;
  const bool is_zero = (given & 0x7FFFFFFF) == 0;
  const bool is_number = (given >= 0) & (given <= 0x7F800000);
  return is_zero ? -infinity : is_number ? result : of_bits(0x7FC00000);
}

ACC_INLINE float sigmoid(float x) { return 1.f / (1.f + exp(-x)); }

// Computed from e^2x. Near 0 that form cancels, so the polynomial of Cephes' tanhf is used there.
ACC_INLINE float tanh(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near_zero = p * z * x + x;
  // From 9.02 on, 1 is nearest. The exponent of e^2x is that of a normal number.
  float twice = 2.f * magnitude_of(x);
  twice = twice > 18.04f ? 18.04f : twice;
  const auto [n, of_r] = exp_parts(twice);
  const float e = of_bits(bits_of(of_r) + (n << 23));
  const float elsewhere = 1.f - 2.f / (e + 1.f);
  // The sum of -0 and 0 is 0.
  return with_sign_of(magnitude_of(x) < 0.625f ? near_zero : elsewhere, x);
}

// The error function, accurate to one or two units in the last place. Both polynomials are minimax fits
// (Remez): of erf(x) / x - 1 by x^2 below 1, and of log(erfc(x)) from 1 on.
ACC_INLINE float erf(float x) {
  const float z = x * x;
  float p = 7.8538611801e-5f;
  p = p * z - 8.0101935693e-4f;
  p = p * z + 5.1883276787e-3f;
  p = p * z - 2.6853811931e-2f;
  p = p * z + 1.1283585148e-1f;
  p = p * z - 3.7612625824e-1f;
  p = p * z + 1.2837916573e-1f;
  const float near_zero = p * x + x;
  // From 3.92 on, 1 is nearest.
  float a = magnitude_of(x);
  a = a > 4.f ? 4.f : a;
  float q = 1.863789389e-4f;
  q = q * a - 2.9476557875e-3f;
  q = q * a + 2.1838053829e-2f;
  q = q * a - 1.031067331e-1f;
  q = q * a - 6.3814485771e-1f;
  q = q * a - 1.1270891751f;
  q = q * a - 3.4152674849e-4f;
  const auto [n, of_r] = exp_parts(q);
  const float elsewhere = 1.f - of_r * power_of_two(n);
  // The sum of -0 and 0 is 0.
  return with_sign_of(magnitude_of(x) < 1.f ? near_zero : elsewhere, x);
}

// The bits of the bfloat16 nearest to x; ties go to the even one.
ACC_INLINE uint16_t bfloat16_bits(float x) {
  const auto bits = static_cast<uint32_t>(bits_of(x));
  const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>(x != x ? 0x7FC0 : rounded);
}

ACC_INLINE float of_bfloat16_bits(uint16_t bits) { return of_bits(static_cast<int32_t>(static_cast<uint32_t>(bits) << 16)); }
)  // ACC_ALSO_AS_TEXT

}  // namespace acc::rows
