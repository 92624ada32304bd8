#pragma once

// Products of small matrices in the caches, with vectors of AVX-512: for bfloat16 two products of
// neighbours at a time (vdpbf16ps, Zen 4 and Intel from Cooper Lake on), for float32 fused multiply-adds.
// libtorch's own are for Intel's matrix units (bfloat16) or whole matrices in memory (float32).
//
// A step is 32 bits of a row: two bfloat16, or one float32. A product adds step by step, in this
// order, so its bits depend neither on the number of rows nor on that of columns.

#include "engine/processor/avx512.h"

#ifdef ACC_HAS_AVX512

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace acc::attention::vectors {

// The rows of a tile, and the numbers in a vector.
constexpr int64_t kRows = 8, kLanes = avx512::kLanes;
// Columns of a right factor are in panels of this many, or of kLanes in the last.
constexpr int64_t kPanel = 2 * kLanes;

constexpr int64_t up_to(int64_t multiple, int64_t count) { return (count + multiple - 1) / multiple * multiple; }

// Memory of whole cache lines, with zeros. `data` counts in steps or floats: both have 32 bits.
template <class T>
class Lines {
 public:
  static_assert(sizeof(T) == 4);
  explicit Lines(int64_t count) : lines_(static_cast<size_t>(up_to(kLanes, count) / kLanes)) {}
  T* data() { return reinterpret_cast<T*>(lines_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(lines_.data()); }
  void clear() { std::memset(lines_.data(), 0, lines_.size() * sizeof(Line)); }

 private:
  struct alignas(64) Line {
    char bytes[64];
  };
  std::vector<Line> lines_;
};

using Step = uint32_t;

// Rows of numbers in memory. Numbers of a row are contiguous.
template <class Number>
struct Rows {
  Number* data;
  int64_t count, stride;
  Number* row(int64_t i) const { return data + i * stride; }
};

struct BFloat16 {
  using Number = uint16_t;
  static constexpr int64_t kPerStep = 2;

  ACC_AVX512_INLINE static __m512 add_product(__m512 sum, __m512i a, __m512i b) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
  ACC_AVX512_INLINE static __m512 load(const Number* from) {
    const auto half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
  }
  ACC_AVX512_INLINE static void store(Number* to, __m512 x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
  }
  // Stores the numbers of two rows in steps: the first of both, the second of both, and so on.
  ACC_AVX512_INLINE static void store_steps(Step* to, const Number* even, const Number* odd) {
    const auto a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(even));
    const auto b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(odd));
    const auto steps = _mm512_or_si512(_mm512_cvtepu16_epi32(a), _mm512_slli_epi32(_mm512_cvtepu16_epi32(b), 16));
    _mm512_store_si512(to, steps);
  }
};

struct Float32 {
  using Number = float;
  static constexpr int64_t kPerStep = 1;

  ACC_AVX512_INLINE static __m512 add_product(__m512 sum, __m512i a, __m512i b) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), sum);
  }
  ACC_AVX512_INLINE static __m512 load(const Number* from) { return _mm512_loadu_ps(from); }
  ACC_AVX512_INLINE static void store(Number* to, __m512 x) { _mm512_storeu_ps(to, x); }
};

// A left factor: the step `s` of row `r` is at `r · row + s · step`.
struct Left {
  const Step* data;
  int64_t row, step;
};

// A right factor: panels of columns, with the steps of a panel one after the other.
struct Right {
  const Step* data;
  int64_t columns, steps;
};

// How a product starts: from zero, from what is there, or from that times a factor for each row.
enum class Start { kZero, kSum, kScaled };

// Computes kRows rows and `vectors` vectors of columns.
template <class Type, int vectors, Start start>
ACC_AVX512 __attribute__((noinline)) void multiply_tile(Left a, const Step* b, int64_t b_step, int64_t steps, float* c,
                                                        int64_t c_row, const float* factors) {
  __m512 sums[kRows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      if constexpr (start == Start::kZero) {
        sums[r][v] = _mm512_setzero_ps();
      } else {
        sums[r][v] = _mm512_load_ps(c + r * c_row + v * kLanes);
        if constexpr (start == Start::kScaled) sums[r][v] = _mm512_mul_ps(sums[r][v], _mm512_set1_ps(factors[r]));
      }
    }
  }
  for (int64_t s = 0; s < steps; ++s, b += b_step) {
    __m512i right[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) right[v] = _mm512_load_si512(b + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto left = _mm512_set1_epi32(static_cast<int>(a.data[r * a.row + s * a.step]));
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sums[r][v] = Type::add_product(sums[r][v], left, right[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) _mm512_store_ps(c + r * c_row + v * kLanes, sums[r][v]);
  }
}

// The part of a right factor that a product takes. `first` and `end` are multiples of kLanes.
struct Part {
  int64_t first, end;  // of the columns
  int64_t start, steps;
};

// Multiplies kRows rows by columns. The sums of the column `first` are at `c`.
template <class Type, Start start>
ACC_AVX512 void multiply(Left a, const Right& b, const Part& part, float* c, int64_t c_row,
                         const float* factors = nullptr) {
  for (int64_t column = part.first; column < part.end;) {
    const int64_t panel = column / kPanel * kPanel, width = std::min(kPanel, b.columns - panel);
    const Step* from = b.data + panel * b.steps + part.start * width + (column - panel);
    float* to = c + (column - part.first);
    if (column == panel && width == kPanel && column + kPanel <= part.end) {
      multiply_tile<Type, 2, start>(a, from, width, part.steps, to, c_row, factors);
      column += kPanel;
    } else {
      multiply_tile<Type, 1, start>(a, from, width, part.steps, to, c_row, factors);
      column += kLanes;
    }
  }
}

// The steps of x as left factor, in contiguous rows. What is behind them stays as it is.
template <class Number>
void copy_rows(const Rows<const Number>& x, int64_t width, Step* to) {
  auto* numbers = reinterpret_cast<Number*>(to);
  for (int64_t i = 0; i < x.count; ++i) std::copy_n(x.row(i), width, numbers + i * width);
}

// Packs `x[rows, width]` as right factor, with its rows in steps. `steps` is that of the factor; those
// that x lacks become 0.
template <class Type>
ACC_AVX512 void pack_rows(const Rows<const typename Type::Number>& x, int64_t width, int64_t steps, Step* to) {
  alignas(64) static constexpr Step kNothing[kLanes] = {};
  const auto* nothing = reinterpret_cast<const typename Type::Number*>(kNothing);
  for (int64_t panel = 0; panel < width; panel += kPanel) {
    const int64_t columns = std::min(kPanel, width - panel);
    for (int64_t s = 0; s < steps; ++s) {
      for (int64_t first = panel; first < panel + columns; first += kLanes, to += kLanes) {
        const auto part = [&](int64_t row) { return row < x.count ? x.row(row) + first : nothing; };
        if constexpr (Type::kPerStep == 2) Type::store_steps(to, part(2 * s), part(2 * s + 1));
        else std::memcpy(to, part(s), sizeof(kNothing));
      }
    }
  }
}

// Packs the transpose of `x[rows, width]` as right factor: a column for each row. `columns`, a multiple
// of kLanes, is that of the factor; those that x lacks become 0.
template <class Type>
ACC_AVX512 void pack_transposed(const Rows<const typename Type::Number>& x, int64_t width, int64_t columns, Step* to) {
  const int64_t steps = width / Type::kPerStep;
  for (int64_t panel = 0; panel < columns; panel += kPanel, to += kPanel * steps) {
    const int64_t in_panel = std::min(kPanel, columns - panel);
    for (int64_t first = 0; first < in_panel; first += kLanes) {
      for (int64_t s = 0; s < steps; s += kLanes) {
        const int64_t count = std::min(kLanes, steps - s);
        const auto present = avx512::lanes_below(count);
        __m512 rows[kLanes];
#pragma GCC unroll 16
        for (int64_t i = 0; i < kLanes; ++i) {
          const int64_t row = panel + first + i;
          rows[i] = row < x.count ? _mm512_maskz_loadu_ps(present, reinterpret_cast<const float*>(x.row(row)) + s)
                                  : _mm512_setzero_ps();
        }
        avx512::transpose(rows);
        Step* out = to + s * in_panel + first;
#pragma GCC unroll 16
        for (int64_t i = 0; i < kLanes; ++i) {
          if (i < count) _mm512_store_ps(out + i * in_panel, rows[i]);
        }
      }
    }
  }
}

// 2^x for x up to 127; 0 for x below -149. The polynomial is a minimax fit (relative error 2e-9).
ACC_AVX512_INLINE __m512 power_of_two(__m512 x) {
  // The operand order of max keeps a NaN.
  x = _mm512_max_ps(_mm512_set1_ps(-160.f), x);
  const auto n = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const auto r = _mm512_sub_ps(x, n);
  auto p = _mm512_set1_ps(1.535336182e-04f);
  constexpr float kOthers[] = {1.339887445e-03f, 9.618437358e-03f, 5.550332471e-02f,
                               2.402264791e-01f, 6.931472029e-01f, 1.f};
#pragma GCC unroll 6
  for (const float factor : kOthers) p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(factor));
  return _mm512_scalef_ps(p, n);
}

}  // namespace acc::attention::vectors

#endif
