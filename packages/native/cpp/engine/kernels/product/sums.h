#pragma once

#include "engine/processor/avx512.h"

#ifdef ACC_HAS_AVX512

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/util/FunctionRef.h>

#include <algorithm>
#include <vector>

#include "engine/kernels/product/blocking.h"
#include "engine/kernels/product/matrix_units.h"
#include "engine/kernels/product/shares.h"

// Products with matrices that are packed once. The caller gets the sums in float32, while they are in the
// L2 cache, and computes with them.
namespace acc::product {

// Some rows of a product's sums, in the columns from `column` to `end`.
struct Sums {
  int64_t row, rows;
  int64_t column, end;
  float* data;
  int64_t matrices, all_rows;

  // The vector of the sums' row i at column j, which is a multiple of the vector. Lanes beyond the result are 0.
  float* at(int64_t matrix, int64_t i, int64_t j) const {
    return data + ((j / kPanel * matrices + matrix) * all_rows + row + i) * kPanel + j % kPanel;
  }
};

// The most words of k in one block: a panel of 32 KiB stays in the L1 cache.
inline constexpr int64_t kSumsDepth = 256;

// Multiplies matrices x [m, k] by some matrices [k, n] each, share by share.
template <typename Word>
class SumsOfProducts {
 public:
  using UseSums = c10::function_ref<void(const Sums&)>;

  SumsOfProducts(const std::vector<Matrix>& matrices, const Sizes& sizes, const Shares& shares)
      : on_matrix_units_(fits_matrix_units(sizes)), blocking_(sizes, on_matrix_units_ ? sizes.k : kSumsDepth),
        matrices_(static_cast<int64_t>(matrices.size())),
        left_words_(on_matrix_units_ ? 0 : ceil_div(blocking_.words * shares.most_rows(), kVector) * kVector),
        packed_(at::empty({matrices_ * blocking_.right_words()}, at::kFloat)),
        left_(at::empty({left_words_ * shares.count()}, at::kFloat)),
        sums_(at::zeros({blocking_.panels * matrices_ * sizes.m * kPanel}, at::kFloat)) {
    at::parallel_for(0, matrices_ * blocking_.panels, 4, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const auto matrix = task / blocking_.panels, panel = task % blocking_.panels;
        for (int64_t block = 0; block < blocking_.depths.count; ++block) {
          pack_panel(blocking_, matrices[static_cast<size_t>(matrix)], block, panel, right_at(matrix, block, panel));
        }
      }
    });
  }

  // Calls use(sums) for the rows of a share, kSumsRows at a time. The columns of x must be adjacent.
  // Shares of the same rows each pack them, if they are packed: that takes less time than to wait for
  // each other.
  void multiply(const Share& share, const Matrix& x, UseSums use) {
    if (on_matrix_units_) {
      multiply_tiles(share, x);
    } else {
      pack_left(share, x);
      for (int64_t panel = share.panel; panel < share.end_panel; ++panel) {
        for (int64_t matrix = 0; matrix < matrices_; ++matrix) add_up(share, matrix, panel);
      }
    }
    visit(share, use);
  }

  // Calls use(sums) with the sums of the last product. They are 0 before the first one.
  void visit(const Share& share, UseSums use) {
    auto sums = sums_of(share);
    for (; sums.row < share.end_row; sums.row += kSumsRows) {
      sums.rows = std::min(kSumsRows, share.end_row - sums.row);
      use(sums);
    }
  }

 private:
  Sums sums_of(const Share& share) {
    return {share.row, share.rows(), share.panel * kPanel, std::min(share.end_panel * kPanel, blocking_.sizes.n),
            sums_.template mutable_data_ptr<float>(), matrices_, blocking_.sizes.m};
  }
  float* right_at(int64_t matrix, int64_t block, int64_t panel) {
    return packed_.template mutable_data_ptr<float>() + matrix * blocking_.right_words() + blocking_.right_begin(block, panel);
  }
  // The packed rows of a share from `row` on, which is counted from its first one.
  float* left_at(const Share& share, int64_t block, int64_t row) {
    return left_.template mutable_data_ptr<float>() + share.index * left_words_ + blocking_.first_word(block) * share.rows() +
           row * blocking_.words_of(block);
  }

  static bool fits_matrix_units(const Sizes& sizes) {
    return Word::kNumbers == 2 && sizes.k % (2 * matrix_units::kDepth) == 0 && matrix_units::is_supported();
  }

  void multiply_tiles(const Share& share, const Matrix& x) {
    const auto* const numbers = static_cast<const uint16_t*>(x.data);
    for (int64_t row = share.row; row < share.end_row; row += matrix_units::kMostRows) {
      const matrix_units::Tiles tiles(std::min(matrix_units::kMostRows, share.end_row - row));
      const matrix_units::Left left{numbers + row * x.row_stride, x.row_stride};
      for (int64_t panel = share.panel; panel < share.end_panel; ++panel) {
        for (int64_t matrix = 0; matrix < matrices_; ++matrix) {
          tiles.multiply(left, right_at(matrix, 0, panel), blocking_.vectors_of(panel), blocking_.words,
                         sums_of(share).at(matrix, row - share.row, panel * kPanel));
        }
      }
    }
  }

  void pack_left(const Share& share, const Matrix& x) {
    const auto parts = parts_of(share.rows(), kMaxRows);
    for (int64_t part = 0; part < parts.count; ++part) {
      const auto first = parts.begin(part);
      const auto count = static_cast<int>(parts.begin(part + 1) - first);
      for (int64_t block = 0; block < blocking_.depths.count; ++block) {
        const auto lanes = lanes_at<Word>(x, x.row_stride, share.row + first, x.column_stride, blocking_.first_number(block));
        pack_lanes(lanes, count, blocking_.numbers_of(block), left_at(share, block, first), count, count);
      }
    }
  }

  // The sums of one panel of a matrix.
  void add_up(const Share& share, int64_t matrix, int64_t panel) {
    const auto vectors = static_cast<size_t>(blocking_.vectors_of(panel));
    const auto parts = parts_of(share.rows(), kMaxRows);
    alignas(64) float more[kMaxRows * kPanel];
    for (int64_t block = 0; block < blocking_.depths.count; ++block) {
      const Panel<Word> right{right_at(matrix, block, panel), nullptr, 0, 0xFFFF};
      for (int64_t part = 0; part < parts.count; ++part) {
        const auto first = parts.begin(part), count = parts.begin(part + 1) - first;
        float* const to = sums_of(share).at(matrix, first, panel * kPanel);
        const Target<Word> target{block == 0 ? to : more, nullptr, 0};
        kKernels<Word, true>[static_cast<size_t>(count) - 1][vectors - 1](left_at(share, block, first), right,
                                                                         blocking_.words_of(block), target);
        if (block > 0) add(more, to, count, static_cast<int64_t>(vectors));
      }
    }
  }

  ACC_AVX512 static void add(const float* more, float* sums, int64_t rows, int64_t vectors) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < vectors * kVector; j += kVector) {
        float* const to = sums + i * kPanel + j;
        _mm512_store_ps(to, _mm512_add_ps(_mm512_load_ps(to), _mm512_load_ps(more + i * kPanel + j)));
      }
    }
  }

  bool on_matrix_units_;
  Blocking<Word> blocking_;
  int64_t matrices_;
  // Of each share.
  int64_t left_words_;
  at::Tensor packed_, left_, sums_;
};

}  // namespace acc::product

#endif
