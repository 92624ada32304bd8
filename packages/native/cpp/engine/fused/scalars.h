#pragma once

#include "engine/processor/row_math.h"

// What elementwise steps compute of the numbers of one element, on every device. Each does one
// operation, so nothing is contracted, and elementary operators round as libtorch's do.

namespace acc::fused::scalar {

ACC_ALSO_AS_TEXT(kText,
ACC_INLINE float add(float a, float b) { return a + b; }
ACC_INLINE float sub(float a, float b) { return a - b; }
ACC_INLINE float mul(float a, float b) { return a * b; }
ACC_INLINE float div(float a, float b) { return a / b; }
// Chooses by bits. For a choice between floats, compilers may take an instruction that makes denormal
// numbers zero, and take another one for another loop.
ACC_INLINE float chosen(bool is_first, float a, float b) {
  const int32_t mask = -static_cast<int32_t>(is_first);
  return rows::of_bits((rows::bits_of(a) & mask) | (rows::bits_of(b) & ~mask));
}
// A NaN in either operand gives NaN.
ACC_INLINE float max(float a, float b) { return chosen((a != a) | (a > b), a, b); }
ACC_INLINE float min(float a, float b) { return chosen((a != a) | (a < b), a, b); }
ACC_INLINE float greater(float a, float b) { return a > b ? 1.f : 0.f; }
ACC_INLINE float greater_equal(float a, float b) { return a >= b ? 1.f : 0.f; }
ACC_INLINE float less(float a, float b) { return a < b ? 1.f : 0.f; }
ACC_INLINE float less_equal(float a, float b) { return a <= b ? 1.f : 0.f; }
ACC_INLINE float equal(float a, float b) { return a == b ? 1.f : 0.f; }
ACC_INLINE float not_equal(float a, float b) { return a != b ? 1.f : 0.f; }
ACC_INLINE float logical_and(float a, float b) { return (a != 0.f) & (b != 0.f) ? 1.f : 0.f; }
ACC_INLINE float logical_or(float a, float b) { return (a != 0.f) | (b != 0.f) ? 1.f : 0.f; }
ACC_INLINE float neg(float a) { return -a; }
ACC_INLINE float abs(float a) { return rows::magnitude_of(a); }
ACC_INLINE float sqrt(float a) { return rows::root_of(a); }
ACC_INLINE float rsqrt(float a) { return 1.f / rows::root_of(a); }
ACC_INLINE float reciprocal(float a) { return 1.f / a; }
ACC_INLINE float tanh(float a) { return rows::tanh(a); }
ACC_INLINE float erf(float a) { return rows::erf(a); }
ACC_INLINE float sigmoid(float a) { return rows::sigmoid(a); }
ACC_INLINE float relu(float a) { return a < 0.f ? 0.f : a; }
ACC_INLINE float logical_not(float a) { return a == 0.f ? 1.f : 0.f; }
ACC_INLINE float copy(float a) { return a; }
ACC_INLINE float round_to_bfloat16(float a) { return rows::of_bfloat16_bits(rows::bfloat16_bits(a)); }
ACC_INLINE float select(float a, float b, float c) { return a != 0.f ? b : c; }
ACC_INLINE float exp(float a) { return rows::exp_of_any(a); }
ACC_INLINE float log(float a) { return rows::log(a); }
)  // ACC_ALSO_AS_TEXT

}  // namespace acc::fused::scalar
