#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/recording/number_reader.h"

namespace acc::fused {

namespace machine_code {
class CodeCache;
}

// What a step computes. packages/kernels/src/fusion/fused-program.ts uses the same numbers.
// Comparisons give 0 or 1.
enum class Op : uint8_t {
  kAdd, kSub, kMul, kDiv, kMax, kMin,
  kGreater, kGreaterEqual, kLess, kLessEqual, kEqual, kNotEqual,
  kAnd, kOr,
  kNeg, kAbs, kSqrt, kRsqrt, kReciprocal, kTanh, kSigmoid, kRelu, kNot, kCopy, kRoundToBfloat16,
  kSelect,  // a ? b : c
  kExp, kLog, kErf,
  // Between elements and rows.
  kSumRow, kMaxRow, kSpread,
  kCount,
};

// The number of operands that an operator takes.
inline int operands_of(Op op) {
  if (op == Op::kSelect) return 3;
  return op < Op::kNeg ? 2 : 1;
}

// What a register has a number for. packages/kernels/src/fusion/fused-program.ts uses the same numbers.
enum class Extent : uint8_t {
  kElements,
  kRows,
  kColumns,  // Only of results: the sum of the elements of each column.
  kCount,
};

// Computes `n` elements of `out` from those of up to three operands.
using Loop = void (*)(const float* a, const float* b, const float* c, float* out, int64_t n);

// Computes one number for each row of `a`, or the elements of each row from operands of which at
// least one has one number for each row. `length` is that of a row.
using RowLoop = void (*)(const float* a, const float* b, float* out, int64_t rows, int64_t length);

// Registers are blocks of float32. An operator that takes fewer operands ignores the others.
struct Step {
  Op op;
  Loop loop;         // or null
  RowLoop row_loop;  // or null
  uint16_t out, a, b, c;
  Extent extent;  // of `out`
};

struct Input {
  Extent extent;
  // The shape to which it is broadcast: different shapes have the same number of elements.
  std::vector<int64_t> shape;

  bool operator==(const Input&) const = default;
};

struct Constant {
  uint16_t reg;
  float number;
  // Whether a step reads it as a block, and not as one number.
  bool is_block = false;
};

struct Result {
  uint16_t reg;
  Extent extent;
  c10::ScalarType dtype;  // float32, bfloat16 or bool
  std::vector<int64_t> shape;
};

struct CudaProgram;

// Elementwise operators, and operators on rows, that run block by block over `count` elements in
// row-major order. The inputs are registers 0, 1, … in their order.
struct Program {
  int64_t count = 0;
  // The length of the rows of which blocks consist. 0 if the program has none.
  int64_t row = 0;
  size_t register_count = 0;
  std::vector<Input> inputs;
  std::vector<Constant> constants;
  std::vector<Step> steps;
  std::vector<Result> results;
  // What the last run on a GPU compiled.
  mutable std::shared_ptr<const CudaProgram> compiled;
  // Null: the interpreter runs the program. Compiling it pays if it runs more than a few times.
  std::shared_ptr<machine_code::CodeCache> code;
};

// Reads a program: the number of elements, the length of a row and the number of registers; the lists
// of inputs, constants, steps and results, each after its length. A shape is the number of dims and
// the sizes.
// Throws ACC_INVALID_ARGUMENT if a register or an operator is out of range, or if a step reads a
// register that has numbers for something else.
Program read_program(NumberReader& in);

// Runs a program on the CPU, or on a GPU with CUDA. Results are contiguous. On the CPU, a result may
// take over the memory of an input that nobody else holds.
// Throws ACC_INVALID_ARGUMENT for inputs of another number, device or dtype.
std::vector<at::Tensor> run(const Program& program, std::vector<at::Tensor> inputs, c10::Device device);

// Throws ACC_INVALID_ARGUMENT if inputs are not those of a program, or not on the device.
void check_inputs(const Program& program, const std::vector<at::Tensor>& inputs, c10::Device device);

// Why programs cannot run on a device. Empty if they can.
std::string reason_against(c10::Device device);

}  // namespace acc::fused
