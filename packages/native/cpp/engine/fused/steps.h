#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "engine/error.h"
#include "engine/fused/program.h"
#include "engine/fused/scalars.h"

// The loops of fused programs on a CPU: one per operator, over a block of elements in the L1 cache.
// Functions are approximated: there the compiler may contract a product and a sum.

#define ACC_FUSED_LOOP(name, ...)                                                                           \
  ACC_EVERY_CPU inline void name(const float* x, const float* y, const float* z, float* out, int64_t n) { \
    ACC_INDEPENDENT                                                                                         \
    for (int64_t i = 0; i < n; ++i) {                                                                       \
      [[maybe_unused]] const float a = x[i], b = y[i], c = z[i];                                            \
      out[i] = scalar::name(__VA_ARGS__);                                                                   \
    }                                                                                                       \
  }

// A function of several operations. The compiler may contract them in vectors in another way than in
// what is left after the last vector. So there are whole vectors only: the bits of an element do not
// depend on its place.
#define ACC_FUSED_FUNCTION(name)                                                                              \
  ACC_EVERY_CPU inline void name##_of_vectors(const float* x, float* out, int64_t n) {                      \
    ACC_INDEPENDENT                                                                                           \
    for (int64_t i = 0; i < (n & ~(kVector - 1)); ++i) {                                                      \
      out[i] = scalar::name(x[i]);                                                                            \
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
#define ACC_FUSED_PAIR_LOOPS(name)                                                                                       \
  struct name {                                                                                                          \
    ACC_INLINE static float of(float a, float b) { return scalar::name(a, b); }                                          \
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

ACC_FUSED_PAIR_LOOPS(add)
ACC_FUSED_PAIR_LOOPS(sub)
ACC_FUSED_PAIR_LOOPS(mul)
ACC_FUSED_PAIR_LOOPS(div)
ACC_FUSED_PAIR_LOOPS(max)
ACC_FUSED_PAIR_LOOPS(min)
ACC_FUSED_PAIR_LOOPS(greater)
ACC_FUSED_PAIR_LOOPS(greater_equal)
ACC_FUSED_PAIR_LOOPS(less)
ACC_FUSED_PAIR_LOOPS(less_equal)
ACC_FUSED_PAIR_LOOPS(equal)
ACC_FUSED_PAIR_LOOPS(not_equal)
ACC_FUSED_PAIR_LOOPS(logical_and)
ACC_FUSED_PAIR_LOOPS(logical_or)
ACC_FUSED_LOOP(neg, a)
ACC_FUSED_LOOP(abs, a)
ACC_FUSED_LOOP(sqrt, a)
ACC_FUSED_LOOP(rsqrt, a)
ACC_FUSED_LOOP(reciprocal, a)
ACC_FUSED_FUNCTION(tanh)
ACC_FUSED_FUNCTION(sigmoid)
ACC_FUSED_LOOP(relu, a)
ACC_FUSED_LOOP(logical_not, a)
ACC_FUSED_LOOP(copy, a)
ACC_FUSED_LOOP(round_to_bfloat16, a)
ACC_FUSED_LOOP(select, a, b, c)
ACC_FUSED_FUNCTION(exp)
ACC_FUSED_FUNCTION(log)
ACC_FUSED_FUNCTION(erf)

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

// The loop for operands of which one may be a number. Two are read as blocks.
inline Loop loop_beside(const PairLoops& loops, bool is_first_number, bool is_second_number) {
  if (is_first_number == is_second_number) return loops.blocks;
  return is_first_number ? loops.first_number : loops.second_number;
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
    case Op::kErf: return erf;
    default: throw Error(kInvalidArgument, "A fused program has an unknown operator.");
  }
}

}  // namespace acc::fused
