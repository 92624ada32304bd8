#pragma once

#include "engine/kernels/product/sums.h"
#include "engine/kernels/recurrent/cell_rows.h"
#include "engine/kernels/recurrent/vector_activations.h"

#ifdef ACC_HAS_AVX512

#include <ATen/core/Tensor.h>

namespace acc::recurrent {

using product::Sums;

inline constexpr int64_t kLanes = avx512::kLanes;

// Rows of numbers in memory: a matrix, or some of its columns.
template <typename Word>
struct Rows {
  using Number = typename Word::Number;

  Number* data = nullptr;
  int64_t stride = 0;

  Number* at(const Sums& sums, int64_t i, int64_t j) const { return data + (sums.row + i) * stride + j; }
};

// The rows of [rows, columns] with adjacent columns.
template <typename Word>
Rows<Word> rows_of(const at::Tensor& x) {
  return {static_cast<typename Word::Number*>(const_cast<void*>(x.const_data_ptr())), x.stride(0)};
}

// The rows of step t of [steps, rows, columns]. Slices of the tensor would take longer than a small step.
template <typename Word>
Rows<Word> rows_at(const at::Tensor& x, int64_t t) {
  return {static_cast<typename Word::Number*>(const_cast<void*>(x.const_data_ptr())) + t * x.stride(0), x.stride(1)};
}

// The matrix of step t, from a column on.
template <typename Word>
product::Matrix matrix_at(const at::Tensor& x, int64_t t, int64_t column = 0) {
  return {rows_at<Word>(x, t).data + column, x.stride(1), 1};
}

// Fetches the vectors of the next row, of `count` gates at column j.
template <typename Word>
ACC_AVX512_INLINE void prefetch_next(const Rows<Word>& gates, const Sums& sums, int64_t i, int64_t j, int64_t count, int64_t width) {
  const auto* const next = gates.at(sums, i + 1, j);
  for (int64_t gate = 0; gate < count; ++gate) _mm_prefetch(reinterpret_cast<const char*>(next + gate * width), _MM_HINT_T0);
}

ACC_AVX512_INLINE __m512 load_floats(const float* from, __mmask16 mask) { return _mm512_maskz_loadu_ps(mask, from); }

// Adds rows to the sums of the first matrix.
template <typename Word>
ACC_AVX512 void add_rows(const Sums& sums, const Rows<Word>& rows) {
  for (int64_t i = 0; i < sums.rows; ++i) {
    for (int64_t j = sums.column; j < sums.end; j += kLanes) {
      float* const to = sums.at(0, i, j);
      _mm512_store_ps(to, _mm512_add_ps(Word::load_numbers(rows.at(sums, i, j), avx512::lanes_below(sums.end - j)), _mm512_load_ps(to)));
    }
  }
}

// Writes the sums of the first matrix.
template <typename Word>
ACC_AVX512 void store_rows(const Sums& sums, const Rows<Word>& rows) {
  for (int64_t i = 0; i < sums.rows; ++i) {
    for (int64_t j = sums.column; j < sums.end; j += kLanes) {
      Word::store_numbers(rows.at(sums, i, j), avx512::lanes_below(sums.end - j), _mm512_load_ps(sums.at(0, i, j)));
    }
  }
}

// The sums of gradients over steps and rows, for the bias. Each part of the rows has its own sums, so that
// the result does not depend on the number of threads. Null if no one asks for them.
struct BiasSums {
  float* data = nullptr;
  int64_t width = 0;

  ACC_AVX512_INLINE void add(const Sums& sums, int64_t column, __mmask16 mask, __m512 x) const {
    if (data == nullptr) return;
    float* const to = data + sums.row / product::kSumsRows * width + column;
    _mm512_mask_storeu_ps(to, mask, _mm512_add_ps(load_floats(to, mask), x));
  }
};

}  // namespace acc::recurrent

#endif
