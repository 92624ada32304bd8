#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/kernels/product/pack.h"
#include "engine/kernels/product/product.h"

// How products are cut into blocks that fit caches.
namespace acc::product {

// The most words of k in one block. A panel then takes 64 KiB, which leaves room in the L2 cache.
inline constexpr int64_t kMaxDepth = 512;
// Smaller products run on one thread: they take 80 µs, and waking another thread takes 75.
inline constexpr int64_t kThreadedWork = 1 << 22;

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A range cut into parts whose lengths differ by 1 at most.
struct Parts {
  int64_t size, count;
  int64_t begin(int64_t part) const { return size * part / count; }
};

inline Parts parts_of(int64_t size, int64_t most) { return {size, std::max<int64_t>(1, ceil_div(size, most))}; }

template <typename Word>
struct Blocking {
  explicit Blocking(const Sizes& sizes, int64_t max_depth = kMaxDepth)
      : sizes(sizes), words(ceil_div(sizes.k, Word::kNumbers)), depths(parts_of(words, max_depth)),
        rows(parts_of(sizes.m, kMaxRows)), panels(ceil_div(sizes.n, kPanel)) {}

  int64_t first_word(int64_t block) const { return depths.begin(block); }
  int64_t words_of(int64_t block) const { return depths.begin(block + 1) - depths.begin(block); }
  int64_t first_number(int64_t block) const { return first_word(block) * Word::kNumbers; }
  int64_t numbers_of(int64_t block) const {
    return std::min(first_number(block + 1), sizes.k) - first_number(block);
  }
  int64_t columns_of(int64_t panel) const { return std::min<int64_t>(kPanel, sizes.n - panel * kPanel); }
  int64_t vectors_of(int64_t panel) const { return ceil_div(columns_of(panel), kVector); }
  // The words of a right matrix: all panels of the first block of k, then those of the next.
  int64_t right_words() const { return ceil_div(sizes.n, kVector) * kVector * words; }
  int64_t right_begin(int64_t block, int64_t panel) const {
    return ceil_div(sizes.n, kVector) * kVector * first_word(block) + panel * kPanel * words_of(block);
  }

  Sizes sizes;
  int64_t words;
  Parts depths, rows;
  int64_t panels;
};

template <typename Word>
Lanes<Word> lanes_at(const Matrix& x, int64_t lane_stride, int64_t lane, int64_t stride, int64_t k) {
  return {static_cast<const typename Word::Number*>(x.data) + lane * lane_stride + k * stride, lane_stride, stride};
}

template <typename Word>
void pack_panel(const Blocking<Word>& blocking, const Matrix& right, int64_t block, int64_t panel, float* to) {
  const auto vectors = blocking.vectors_of(panel);
  for (int64_t j = 0; j < vectors; ++j) {
    const auto lanes = lanes_at<Word>(right, right.column_stride, panel * kPanel + j * kVector, right.row_stride,
                                      blocking.first_number(block));
    const auto count = std::min<int64_t>(kVector, blocking.columns_of(panel) - j * kVector);
    pack_lanes(lanes, static_cast<int>(count), blocking.numbers_of(block), to + j * kVector, vectors * kVector, kVector);
  }
}

}  // namespace acc::product
