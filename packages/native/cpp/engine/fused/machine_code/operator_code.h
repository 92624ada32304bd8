#pragma once

#include <cstdint>
#include <vector>

#include "engine/error.h"
#include "engine/fused/program.h"
#include "third_party/xbyak/xbyak.h"

namespace acc::fused::machine_code {

// Bits of numbers that operators read.
inline constexpr uint32_t kOne = 0x3F800000, kSign = 0x80000000, kMagnitude = 0x7FFFFFFF, kNan = 0x7FC00000;
inline constexpr uint32_t kLowBit = 1, kLastBit = 0x10000, kHalf = 0x8000, kBelowHalf = 0x7FFF, kHighHalf = 0xFFFF0000, kZero = 0;

// Predicates of comparisons that raise no exception.
enum Compare : uint8_t {
  kIsEqual = 0x00, kIsUnordered = 0x03, kIsNotEqual = 0x04, kIsOrdered = 0x07, kIsLess = 0x11, kIsLessEqual = 0x12,
  kIsNotLess = 0x15, kIsGreaterEqual = 0x1D, kIsGreater = 0x1E,
};

// Further numbers that the code of an operator reads.
inline std::vector<uint32_t> literals_of(Op op) {
  switch (op) {
    case Op::kGreater: case Op::kGreaterEqual: case Op::kLess: case Op::kLessEqual: case Op::kEqual: case Op::kNotEqual:
      return {kOne};
    case Op::kAnd: case Op::kOr: case Op::kNot: return {kOne, kZero};
    case Op::kNeg: return {kSign};
    case Op::kAbs: return {kMagnitude};
    case Op::kRsqrt: case Op::kReciprocal: return {kOne};
    case Op::kRelu: case Op::kSelect: return {kZero};
    case Op::kRoundToBfloat16: return {kLastBit, kHalf, kBelowHalf, kHighHalf, kNan};
    default: return {};
  }
}

inline std::vector<uint32_t> literals_of_writing(at::ScalarType dtype) {
  if (dtype == at::kBFloat16) return {kLastBit, kHalf, kBelowHalf, kHighHalf, kNan};
  if (dtype == at::kBool) return {kLowBit, kZero};
  return {};
}

// Writes the instructions of operators. Each rounds as the loop of the interpreter does, and nothing is
// contracted. Only if both operands of a sum or a product are NaN, the result may be the other NaN.
class OperatorCode : public Xbyak::CodeGenerator {
 protected:
  using Zmm = Xbyak::Zmm;
  using CodeGenerator::CodeGenerator;

  // A vector register that has a number in each element.
  virtual Zmm literal(uint32_t bits) = 0;
  // The number of a vector register that is free again after the step.
  virtual int temporary() = 0;

  void compute(Op op, const Zmm& out, const Zmm& a, const Zmm& b, const Zmm& c) {
    switch (op) {
      case Op::kAdd: return vaddps(out, a, b);
      case Op::kSub: return vsubps(out, a, b);
      case Op::kMul: return vmulps(out, a, b);
      case Op::kDiv: return vdivps(out, a, b);
      case Op::kMax: return choose(out, a, b, kIsGreater);
      case Op::kMin: return choose(out, a, b, kIsLess);
      case Op::kGreater: return compare(out, a, b, kIsGreater);
      case Op::kGreaterEqual: return compare(out, a, b, kIsGreaterEqual);
      case Op::kLess: return compare(out, a, b, kIsLess);
      case Op::kLessEqual: return compare(out, a, b, kIsLessEqual);
      case Op::kEqual: return compare(out, a, b, kIsEqual);
      case Op::kNotEqual: return compare(out, a, b, kIsNotEqual);
      case Op::kNot: return compare(out, a, literal(kZero), kIsEqual);
      case Op::kAnd:
      case Op::kOr: return combine(op, out, a, b);
      case Op::kNeg: return vpxord(out, a, literal(kSign));
      case Op::kAbs: return vpandd(out, a, literal(kMagnitude));
      case Op::kSqrt: return vsqrtps(out, a);
      case Op::kRsqrt: vsqrtps(out, a); return vdivps(out, literal(kOne), out);
      case Op::kReciprocal: return vdivps(out, literal(kOne), a);
      case Op::kRelu: vcmpps(k2, a, literal(kZero), kIsNotLess); return vmovaps(out | k2 | T_z, a);
      case Op::kCopy:
      case Op::kSpread: return vmovaps(out, a);
      case Op::kRoundToBfloat16: return round_to_bfloat16(out, a);
      case Op::kSelect: vcmpps(k2, a, literal(kZero), kIsNotEqual); return vblendmps(out | k2, c, b);
      default: throw Error(kInvalidArgument, "A kernel has an unknown operator.");
    }
  }

  void compare(const Zmm& out, const Zmm& a, const Zmm& b, Compare predicate) {
    vcmpps(k2, a, b, predicate);
    vmovaps(out | k2 | T_z, literal(kOne));
  }

  void choose(const Zmm& out, const Zmm& a, const Zmm& b, Compare predicate) {
    vcmpps(k2, a, b, predicate);
    vcmpps(k3, a, a, kIsUnordered);
    korw(k2, k2, k3);
    vblendmps(out | k2, b, a);
  }

  void combine(Op op, const Zmm& out, const Zmm& a, const Zmm& b) {
    vcmpps(k2, a, literal(kZero), kIsNotEqual);
    vcmpps(k3, b, literal(kZero), kIsNotEqual);
    if (op == Op::kAnd) {
      kandw(k2, k2, k3);
    } else {
      korw(k2, k2, k3);
    }
    vmovaps(out | k2 | T_z, literal(kOne));
  }

  // Rounds half up, or down if the last bit that stays is 0. The bits of a NaN are those of `kNan`.
  void round_to_bfloat16(const Zmm& out, const Zmm& a) {
    const Zmm high = literal(kHighHalf), nan = literal(kNan);
    const Zmm rounded(temporary());
    vptestmd(k2, a, literal(kLastBit));
    vcmpps(k3, a, a, kIsOrdered);
    vpaddd(rounded, a, literal(kBelowHalf));
    vpaddd(rounded | k2, a, literal(kHalf));
    vmovdqa32(out, nan);
    vpandd(out | k3, rounded, high);
  }
};

}  // namespace acc::fused::machine_code
