#pragma once

#include "engine/kernels/recurrent/activation.h"
#include "engine/processor/avx512.h"

#ifdef ACC_HAS_AVX512

// The activations of recurrent layers on vectors of AVX-512.
namespace acc::recurrent {

// 2^(j/16) for j from 0 to 15, minus j in the place that `exp` adds it to.
alignas(64) inline constexpr uint32_t kRoots[16] = {
    0x3F800000, 0x3F7DAAC3, 0x3F7B95C2, 0x3F79C3D3, 0x3F7837F0, 0x3F76F532, 0x3F75FED7, 0x3F75583F,
    0x3F7504F3, 0x3F7508A4, 0x3F75672A, 0x3F76248C, 0x3F7744FD, 0x3F78CCDF, 0x3F7AC0C7, 0x3F7D257D};

// e^x, accurate to one or two units in the last place, for x from -87 to 88. x is n · ln 2 / 16 + r. e^r is a
// Taylor polynomial, whose error is below r^4 / 24 < 1e-8, and 2^(n/16) is a root of the table times a
// power of two.
ACC_AVX512_INLINE __m512 exp(__m512 x) {
  // Adding it leaves no fraction bits. The integer is then in the lowest bits.
  const auto round = _mm512_set1_ps(12582912.f);
  const auto shifted = _mm512_fmadd_ps(x, _mm512_set1_ps(23.0831206542234f), round);
  const auto n = _mm512_sub_ps(shifted, round);
  auto r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.043321698904037476f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-1.1904089519676475e-10f), r);
  auto p = _mm512_fmadd_ps(r, _mm512_set1_ps(1.f / 6.f), _mm512_set1_ps(0.5f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f));
  const auto bits = _mm512_castps_si512(shifted);
  const auto root = _mm512_permutexvar_epi32(bits, _mm512_load_si512(kRoots));
  return _mm512_mul_ps(p, _mm512_castsi512_ps(_mm512_add_epi32(root, _mm512_slli_epi32(bits, 19))));
}

// 1 / x by Newton's method: accurate to one unit in the last place, and exact for powers of two.
ACC_AVX512_INLINE __m512 reciprocal(__m512 x) {
  const auto y = _mm512_rcp14_ps(x);
  return _mm512_fmadd_ps(y, _mm512_fnmadd_ps(x, y, _mm512_set1_ps(1.f)), y);
}

// With a NaN, the result of a minimum or maximum is the second operand.

ACC_AVX512_INLINE __m512 sigmoid(__m512 x) {
  auto turned = _mm512_xor_ps(x, _mm512_set1_ps(-0.f));
  turned = _mm512_min_ps(_mm512_set1_ps(87.f), _mm512_max_ps(_mm512_set1_ps(-87.f), turned));
  return reciprocal(_mm512_add_ps(exp(turned), _mm512_set1_ps(1.f)));
}

// As in row_math.h.
ACC_AVX512_INLINE __m512 tanh(__m512 x) {
  const auto sign = _mm512_set1_ps(-0.f), one = _mm512_set1_ps(1.f);
  const auto magnitude = _mm512_andnot_ps(sign, x), z = _mm512_mul_ps(x, x);
  auto p = _mm512_fmadd_ps(z, _mm512_set1_ps(-5.70498872745e-3f), _mm512_set1_ps(2.06390887954e-2f));
  p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(-5.37397155531e-2f));
  p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(1.33314422036e-1f));
  p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(-3.33332819422e-1f));
  const auto near_zero = _mm512_fmadd_ps(_mm512_mul_ps(p, z), x, x);
  const auto twice = _mm512_min_ps(_mm512_set1_ps(18.04f), _mm512_add_ps(magnitude, magnitude));
  const auto part = reciprocal(_mm512_add_ps(exp(twice), one));
  const auto elsewhere = _mm512_or_ps(_mm512_fnmadd_ps(part, _mm512_set1_ps(2.f), one), _mm512_and_ps(sign, x));
  const auto is_near = _mm512_cmp_ps_mask(magnitude, _mm512_set1_ps(0.625f), _CMP_LT_OQ);
  return _mm512_mask_mov_ps(elsewhere, is_near, near_zero);
}

ACC_AVX512_INLINE __m512 hard_sigmoid(__m512 x) {
  const auto y = _mm512_add_ps(_mm512_mul_ps(x, _mm512_set1_ps(0.2f)), _mm512_set1_ps(0.5f));
  return _mm512_min_ps(_mm512_set1_ps(1.f), _mm512_max_ps(_mm512_setzero_ps(), y));
}

ACC_AVX512_INLINE __m512 activate(Activation activation, __m512 x) {
  switch (activation) {
    case Activation::kLinear:
      return x;
    case Activation::kRelu:
      return _mm512_max_ps(_mm512_setzero_ps(), x);
    case Activation::kTanh:
      return tanh(x);
    case Activation::kSigmoid:
      return sigmoid(x);
    case Activation::kHardSigmoid:
      return hard_sigmoid(x);
  }
  return x;
}

// The gradient of the input, from that of the result `y`.
ACC_AVX512_INLINE __m512 activate_backward(Activation activation, __m512 grad, __m512 y) {
  const auto one = _mm512_set1_ps(1.f), zero = _mm512_setzero_ps();
  switch (activation) {
    case Activation::kLinear:
      return grad;
    case Activation::kRelu:
      return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(y, zero, _CMP_GT_OQ), grad);
    case Activation::kTanh:
      return _mm512_mul_ps(grad, _mm512_fnmadd_ps(y, y, one));
    case Activation::kSigmoid:
      return _mm512_mul_ps(grad, _mm512_fnmadd_ps(y, y, y));
    case Activation::kHardSigmoid: {
      const auto inside = _mm512_cmp_ps_mask(y, zero, _CMP_GT_OQ) & _mm512_cmp_ps_mask(y, one, _CMP_LT_OQ);
      return _mm512_maskz_mul_ps(static_cast<__mmask16>(inside), grad, _mm512_set1_ps(0.2f));
    }
  }
  return grad;
}

}  // namespace acc::recurrent

#endif
