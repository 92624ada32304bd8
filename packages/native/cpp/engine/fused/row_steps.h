#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/fused/program.h"
#include "engine/processor/row_math.h"

// The steps of fused programs that go from the elements of rows to one number for each row, and back.

namespace acc::fused {

// A row is reduced in this many parts, so that the compiler vectorizes it.
inline constexpr int64_t kLanes = 32;
// Numbers that are added before the sum goes to a total, which keeps rounding errors small.
inline constexpr int64_t kSummed = 256;

ACC_INLINE float sum_of_lanes(const float* x, int64_t count) {
  float lanes[kLanes] = {};
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] += x[i + k];
  }
  for (int64_t i = whole; i < count; ++i) lanes[i - whole] += x[i];
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t k = 0; k < width; ++k) lanes[k] += lanes[k + width];
  }
  return lanes[0];
}

ACC_EVERY_CPU inline void sum_row(const float* a, const float*, float* out, int64_t rows, int64_t length) {
  for (int64_t r = 0; r < rows; ++r, a += length) {
    float total = 0.f;
    for (int64_t first = 0; first < length; first += kSummed) {
      total += sum_of_lanes(a + first, std::min(kSummed, length - first));
    }
    out[r] = total;
  }
}

// This form is one instruction. If either is NaN, it gives b.
ACC_INLINE float greater_of(float a, float b) { return a > b ? a : b; }

// The greatest number of a row. A NaN gives NaN.
ACC_INLINE float max_of_lanes(const float* x, int64_t count) {
  float lanes[kLanes];
  int32_t nans[kLanes] = {};
  for (float& lane : lanes) lane = -std::numeric_limits<float>::infinity();
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      const float a = x[i + k];
      lanes[k] = greater_of(a, lanes[k]);
      nans[k] |= a != a;
    }
  }
  for (int64_t i = whole; i < count; ++i) {
    lanes[i - whole] = greater_of(x[i], lanes[i - whole]);
    nans[i - whole] |= x[i] != x[i];
  }
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t k = 0; k < width; ++k) lanes[k] = greater_of(lanes[k + width], lanes[k]);
  }
  int32_t has_nan = 0;
  for (int64_t k = 0; k < kLanes; ++k) has_nan |= nans[k];
  return has_nan ? std::numeric_limits<float>::quiet_NaN() : lanes[0];
}

ACC_EVERY_CPU inline void max_row(const float* a, const float*, float* out, int64_t rows, int64_t length) {
  for (int64_t r = 0; r < rows; ++r, a += length) out[r] = max_of_lanes(a, length);
}

ACC_EVERY_CPU inline void spread(const float* a, const float*, float* out, int64_t rows, int64_t length) {
  for (int64_t r = 0; r < rows; ++r, out += length) {
    const float number = a[r];
    for (int64_t i = 0; i < length; ++i) out[i] = number;
  }
}

// The loop of an operator on rows. Null if it is an elementwise one.
inline RowLoop row_loop_of(Op op) {
  switch (op) {
    case Op::kSumRow: return sum_row;
    case Op::kMaxRow: return max_row;
    case Op::kSpread: return spread;
    default: return nullptr;
  }
}

}  // namespace acc::fused
