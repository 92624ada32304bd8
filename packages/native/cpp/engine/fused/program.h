#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace acc::fused {

// What a step computes. src/fused-program.ts uses the same numbers. Comparisons give 0 or 1.
enum class Op : uint8_t {
  kAdd, kSub, kMul, kDiv, kMax, kMin,
  kGreater, kGreaterEqual, kLess, kLessEqual, kEqual, kNotEqual,
  kAnd, kOr,
  kNeg, kAbs, kSqrt, kRsqrt, kReciprocal, kTanh, kSigmoid, kRelu, kNot, kRoundToBfloat16,
  kSelect,  // a ? b : c
  kCount,
};

// Registers are blocks of float32. Unused operands are 0.
struct Step {
  Op op;
  uint16_t out, a, b, c;
};

struct Constant {
  uint16_t reg;
  float number;
};

struct Result {
  uint16_t reg;
  c10::ScalarType dtype;  // float32, bfloat16 or bool
};

// Elementwise operators that run block by block over tensors that are broadcast to one shape. The
// inputs are registers 0, 1, … in their order.
struct Program {
  std::vector<int64_t> shape;
  size_t input_count = 0;
  size_t register_count = 0;
  std::vector<Constant> constants;
  std::vector<Step> steps;
  std::vector<Result> results;
};

// Reads a program from numbers and moves `numbers` behind it: the shape's length and sizes; the
// counts of inputs and registers; the lists of constants, steps and results, each after its length.
// Throws ACC_INVALID_ARGUMENT if a register or an operator is out of range.
Program read_program(const double*& numbers, const double* end);

// Runs a program on a CPU. A result may take over the memory of an input that nobody else holds.
// Results are contiguous.
std::vector<at::Tensor> run(const Program& program, std::vector<at::Tensor> inputs);

}  // namespace acc::fused
