#pragma once

#include <cstdint>

// Products of matrices whose factors are rounded to 8-bit integers, with one scale for each row of the left
// matrix and for each column of the right one. Sums of integers are exact, so the result depends neither
// on the instructions of the CPU nor on the number of threads.
namespace acc::int8 {

// The numbers of k whose products are added as integers. Longer sums are added in float32.
inline constexpr int64_t kDepth = 16384;

// A matrix in memory as lanes: rows of the left one, columns of the right one. One of the strides is 1.
// They are in numbers.
struct Operand {
  const void* data;
  // Otherwise bfloat16.
  bool is_float;
  int64_t lane_stride, stride;
  int64_t lanes;
  // Whether numbers are rounded up or down at random, by `seed`.
  bool is_stochastic;
  uint32_t seed;
};

struct Ending {
  // [columns], or null.
  const float* bias = nullptr;
  bool is_relu = false;
};

// The result: rows without gaps.
struct Out {
  void* data;
  // Otherwise bfloat16.
  bool is_float;
};

// Whether this CPU has AVX-512 with VNNI.
bool has_instructions();

// `depth` is the number of k.
void multiply(const Operand& left, const Operand& right, int64_t depth, const Ending& ending, const Out& out);
// The same bits by plain code and products of float32, for any CPU.
void multiply_plainly(const Operand& left, const Operand& right, int64_t depth, const Ending& ending, const Out& out);

}  // namespace acc::int8
