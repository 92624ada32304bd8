#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>

#include "engine/processor/row_math.h"

// Rows of bfloat16 as rows of float32, and back.
namespace acc::rows {

ACC_EVERY_CPU inline void widen(const uint16_t* x, float* out, int64_t count) {
  ACC_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = of_bfloat16_bits(x[i]);
}

// Rounds to the nearest number; ties go to the even one.
ACC_EVERY_CPU inline void narrow(const float* x, uint16_t* out, int64_t count) {
  ACC_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = bfloat16_bits(x[i]);
}

// Rows that are float32 are read and written where they lie. Those of bfloat16 go through scratch memory.

inline const float* read_row(const float* row, float*, int64_t) { return row; }
inline const float* read_row(const c10::BFloat16* row, float* scratch, int64_t count) {
  widen(reinterpret_cast<const uint16_t*>(row), scratch, count);
  return scratch;
}

inline float* edit_row(float* row, float*, int64_t) { return row; }
inline float* edit_row(c10::BFloat16* row, float* scratch, int64_t count) {
  widen(reinterpret_cast<const uint16_t*>(row), scratch, count);
  return scratch;
}

// Where the numbers of a new row are computed. `write_row` follows.
inline float* place_row(float* row, float*) { return row; }
inline float* place_row(c10::BFloat16*, float* scratch) { return scratch; }

inline void write_row(const float*, float*, int64_t) {}
inline void write_row(const float* scratch, c10::BFloat16* row, int64_t count) {
  narrow(scratch, reinterpret_cast<uint16_t*>(row), count);
}

}  // namespace acc::rows
