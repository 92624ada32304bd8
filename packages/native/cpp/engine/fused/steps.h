#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "engine/error.h"
#include "engine/fused/program.h"
#include "engine/row_math.h"

// The loops of fused programs: one per operator, over a block of elements in the L1 cache. Each does
// one operation, so nothing is contracted, and elementary operators round as libtorch's do. Functions
// are approximated: there the compiler may contract a product and a sum.

// `out` may be the same register as an operand. Elements do not depend on each other.
#if defined(__clang__)
#define ACC_INDEPENDENT _Pragma("clang loop vectorize(enable)")
#else
#define ACC_INDEPENDENT _Pragma("GCC ivdep")
#endif

#define ACC_FUSED_LOOP(name, value)                                                                         \
  ACC_EVERY_CPU inline void name(const float* x, const float* y, const float* z, float* out, int64_t n) { \
    ACC_INDEPENDENT                                                                                         \
    for (int64_t i = 0; i < n; ++i) {                                                                       \
      [[maybe_unused]] const float a = x[i], b = y[i], c = z[i];                                            \
      out[i] = value;                                                                                       \
    }                                                                                                       \
  }

// A function of several operations. The compiler may contract them in vectors in another way than in
// what is left after the last vector. So there are whole vectors only: the bits of an element do not
// depend on its place.
#define ACC_FUSED_FUNCTION(name, value)                                                                       \
  ACC_EVERY_CPU inline void name##_of_vectors(const float* x, float* out, int64_t n) {                      \
    ACC_INDEPENDENT                                                                                           \
    for (int64_t i = 0; i < (n & ~(kVector - 1)); ++i) {                                                      \
      const float a = x[i];                                                                                   \
      out[i] = value;                                                                                         \
    }                                                                                                         \
  }                                                                                                           \
  inline void name(const float* x, const float*, const float*, float* out, int64_t n) {                     \
    const int64_t whole = n & ~(kVector - 1);                                                                 \
    name##_of_vectors(x, out, whole);                                                                         \
    if (whole == n) return;                                                                                   \
    float rest[kVector] = {};                                                                                 \
    std::copy(x + whole, x + n, rest);                                                                        \
    name##_of_vectors(rest, rest, kVector);                                                                   \
    std::copy(rest, rest + (n - whole), out + whole);                                                         \
  }

// The loops of an operator with two operands, either of which may be one number for a whole block or
// one for each row. They save the block that the number would fill, and reading it.
#define ACC_FUSED_PAIR_LOOPS(name, value)                                                                                \
  struct name {                                                                                                          \
    ACC_INLINE static float of(float a, float b) { return value; }                                                       \
    ACC_EVERY_CPU static void blocks(const float* x, const float* y, const float*, float* out, int64_t n) {              \
      ACC_INDEPENDENT                                                                                                    \
      for (int64_t i = 0; i < n; ++i) out[i] = of(x[i], y[i]);                                                           \
    }                                                                                                                    \
    ACC_EVERY_CPU static void first_number(const float* x, const float* y, const float*, float* out, int64_t n) {        \
      const float a = *x;                                                                                                \
      ACC_INDEPENDENT                                                                                                    \
      for (int64_t i = 0; i < n; ++i) out[i] = of(a, y[i]);                                                              \
    }                                                                                                                    \
    ACC_EVERY_CPU static void second_number(const float* x, const float* y, const float*, float* out, int64_t n) {       \
      const float b = *y;                                                                                                \
      ACC_INDEPENDENT                                                                                                    \
      for (int64_t i = 0; i < n; ++i) out[i] = of(x[i], b);                                                              \
    }                                                                                                                    \
    ACC_EVERY_CPU static void first_of_rows(const float* x, const float* y, float* out, int64_t rows, int64_t length) {  \
      for (int64_t r = 0; r < rows; ++r, y += length, out += length) {                                                   \
        const float a = x[r];                                                                                            \
        ACC_INDEPENDENT                                                                                                  \
        for (int64_t i = 0; i < length; ++i) out[i] = of(a, y[i]);                                                       \
      }                                                                                                                  \
    }                                                                                                                    \
    ACC_EVERY_CPU static void second_of_rows(const float* x, const float* y, float* out, int64_t rows, int64_t length) { \
      for (int64_t r = 0; r < rows; ++r, x += length, out += length) {                                                   \
        const float b = y[r];                                                                                            \
        ACC_INDEPENDENT                                                                                                  \
        for (int64_t i = 0; i < length; ++i) out[i] = of(x[i], b);                                                       \
      }                                                                                                                  \
    }                                                                                                                    \
  };

namespace acc::fused {

// The number of floats in the longest vectors of a CPU.
inline constexpr int64_t kVector = 16;

// Chooses by bits. For a choice between floats, compilers may take an instruction that makes denormal
// numbers zero, and take another one for another loop.
ACC_INLINE float chosen(bool is_first, float a, float b) {
  const int32_t mask = -static_cast<int32_t>(is_first);
  return std::bit_cast<float>((std::bit_cast<int32_t>(a) & mask) | (std::bit_cast<int32_t>(b) & ~mask));
}

ACC_FUSED_PAIR_LOOPS(add, a + b)
ACC_FUSED_PAIR_LOOPS(sub, a - b)
ACC_FUSED_PAIR_LOOPS(mul, a * b)
ACC_FUSED_PAIR_LOOPS(div, a / b)
// A NaN in either operand gives NaN.
ACC_FUSED_PAIR_LOOPS(max, chosen((a != a) | (a > b), a, b))
ACC_FUSED_PAIR_LOOPS(min, chosen((a != a) | (a < b), a, b))
ACC_FUSED_PAIR_LOOPS(greater, a > b ? 1.f : 0.f)
ACC_FUSED_PAIR_LOOPS(greater_equal, a >= b ? 1.f : 0.f)
ACC_FUSED_PAIR_LOOPS(less, a < b ? 1.f : 0.f)
ACC_FUSED_PAIR_LOOPS(less_equal, a <= b ? 1.f : 0.f)
ACC_FUSED_PAIR_LOOPS(equal, a == b ? 1.f : 0.f)
ACC_FUSED_PAIR_LOOPS(not_equal, a != b ? 1.f : 0.f)
ACC_FUSED_PAIR_LOOPS(logical_and, (a != 0.f) & (b != 0.f) ? 1.f : 0.f)
ACC_FUSED_PAIR_LOOPS(logical_or, (a != 0.f) | (b != 0.f) ? 1.f : 0.f)
ACC_FUSED_LOOP(neg, -a)
ACC_FUSED_LOOP(abs, std::fabs(a))
ACC_FUSED_LOOP(sqrt, std::sqrt(a))
ACC_FUSED_LOOP(rsqrt, 1.f / std::sqrt(a))
ACC_FUSED_LOOP(reciprocal, 1.f / a)
ACC_FUSED_FUNCTION(tanh, rows::tanh(a))
ACC_FUSED_FUNCTION(sigmoid, rows::sigmoid(a))
ACC_FUSED_LOOP(relu, a < 0.f ? 0.f : a)
ACC_FUSED_LOOP(logical_not, a == 0.f ? 1.f : 0.f)
ACC_FUSED_LOOP(copy, a)
ACC_FUSED_LOOP(round_to_bfloat16, rows::of_bfloat16_bits(rows::bfloat16_bits(a)))
ACC_FUSED_LOOP(select, a != 0.f ? b : c)
ACC_FUSED_FUNCTION(exp, rows::exp_of_any(a))
ACC_FUSED_FUNCTION(log, rows::log(a))

// The loops of an operator with two operands.
struct PairLoops {
  Loop blocks;
  // The first or the second operand is one number.
  Loop first_number, second_number;
  // The first or the second operand has one number for each row.
  RowLoop first_of_rows, second_of_rows;
};

template <typename Operator>
constexpr PairLoops pair_loops() {
  return {Operator::blocks, Operator::first_number, Operator::second_number, Operator::first_of_rows, Operator::second_of_rows};
}

inline std::optional<PairLoops> pair_loops_of(Op op) {
  switch (op) {
    case Op::kAdd: return pair_loops<add>();
    case Op::kSub: return pair_loops<sub>();
    case Op::kMul: return pair_loops<mul>();
    case Op::kDiv: return pair_loops<div>();
    case Op::kMax: return pair_loops<max>();
    case Op::kMin: return pair_loops<min>();
    case Op::kGreater: return pair_loops<greater>();
    case Op::kGreaterEqual: return pair_loops<greater_equal>();
    case Op::kLess: return pair_loops<less>();
    case Op::kLessEqual: return pair_loops<less_equal>();
    case Op::kEqual: return pair_loops<equal>();
    case Op::kNotEqual: return pair_loops<not_equal>();
    case Op::kAnd: return pair_loops<logical_and>();
    case Op::kOr: return pair_loops<logical_or>();
    default: return std::nullopt;
  }
}

// The loop of an operator with one operand or three.
inline Loop loop_of(Op op) {
  switch (op) {
    case Op::kNeg: return neg;
    case Op::kAbs: return abs;
    case Op::kSqrt: return sqrt;
    case Op::kRsqrt: return rsqrt;
    case Op::kReciprocal: return reciprocal;
    case Op::kTanh: return tanh;
    case Op::kSigmoid: return sigmoid;
    case Op::kRelu: return relu;
    case Op::kNot: return logical_not;
    case Op::kCopy: return copy;
    case Op::kRoundToBfloat16: return round_to_bfloat16;
    case Op::kSelect: return select;
    case Op::kExp: return exp;
    case Op::kLog: return log;
    default: throw Error(kInvalidArgument, "A fused program has an unknown operator.");
  }
}

}  // namespace acc::fused
