#pragma once

#include "engine/avx512.h"

#ifdef ACC_HAS_AVX512

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/util/FunctionRef.h>

#include <algorithm>
#include <vector>

#include "engine/product/blocking.h"

// Products with matrices that are packed once. The caller gets the sums in float32, while they are in the
// L2 cache, and computes with them.
namespace acc::product {

// Some rows of a product's sums.
struct Sums {
  int64_t row, rows;
  float* data;
  int64_t matrices, all_rows;

  // The vector of the sums' row i at column j, which is a multiple of the vector. Lanes beyond the result are 0.
  float* at(int64_t matrix, int64_t i, int64_t j) const {
    return data + ((j / kPanel * matrices + matrix) * all_rows + row + i) * kPanel + j % kPanel;
  }
};

// The most words of k in one block: a panel of 32 KiB stays in the L1 cache.
inline constexpr int64_t kSumsDepth = 256;
// Rows that the caller gets at once.
inline constexpr int64_t kSumsRows = 4;

// Multiplies matrices x [m, k] by some matrices [k, n] each.
template <typename Word>
class SumsOfProducts {
 public:
  using UseSums = c10::function_ref<void(const Sums&)>;

  SumsOfProducts(const std::vector<Matrix>& matrices, const Sizes& sizes)
      : blocking_(sizes, kSumsDepth), matrices_(static_cast<int64_t>(matrices.size())),
        packed_(at::empty({matrices_ * blocking_.right_words()}, at::kFloat)),
        left_(at::empty({blocking_.words * sizes.m}, at::kFloat)),
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

  // The number of parts in which `use` gets the rows.
  int64_t parts() const { return ceil_div(blocking_.sizes.m, kSumsRows); }

  // Calls use(sums) for all rows, kSumsRows at a time. Several threads do so, each for other rows.
  void multiply(const Matrix& x, UseSums use) {
    pack_left(x);
    const auto tasks = blocking_.panels * matrices_;
    at::parallel_for(0, tasks, is_threaded() ? 1 : tasks, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) add_up(task % matrices_, task / matrices_);
    });
    visit(use);
  }

  // Calls use(sums) with the sums of the last product. They are 0 before the first one.
  void visit(UseSums use) {
    const auto rows = blocking_.sizes.m;
    at::parallel_for(0, parts(), is_threaded() ? 1 : parts(), [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const auto first = part * kSumsRows;
        use(Sums{first, std::min(kSumsRows, rows - first), sums_.template mutable_data_ptr<float>(), matrices_, rows});
      }
    });
  }

 private:
  bool is_threaded() const { return blocking_.sizes.m * blocking_.sizes.n * matrices_ * blocking_.words >= kThreadedWork; }

  float* right_at(int64_t matrix, int64_t block, int64_t panel) {
    return packed_.template mutable_data_ptr<float>() + matrix * blocking_.right_words() + blocking_.right_begin(block, panel);
  }
  float* left_at(int64_t block, int64_t rows) {
    return left_.template mutable_data_ptr<float>() + blocking_.first_word(block) * blocking_.sizes.m + blocking_.rows.begin(rows) * blocking_.words_of(block);
  }

  void pack_left(const Matrix& x) {
    const auto& rows = blocking_.rows;
    at::parallel_for(0, rows.count, is_threaded() ? 1 : rows.count, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const auto count = static_cast<int>(rows.begin(part + 1) - rows.begin(part));
        for (int64_t block = 0; block < blocking_.depths.count; ++block) {
          const auto lanes = lanes_at<Word>(x, x.row_stride, rows.begin(part), x.column_stride, blocking_.first_number(block));
          pack_lanes(lanes, count, blocking_.numbers_of(block), left_at(block, part), count, count);
        }
      }
    });
  }

  // The sums of one panel of a matrix.
  void add_up(int64_t matrix, int64_t panel) {
    const auto vectors = static_cast<size_t>(blocking_.vectors_of(panel));
    const Sums all{0, blocking_.sizes.m, sums_.template mutable_data_ptr<float>(), matrices_, blocking_.sizes.m};
    alignas(64) float more[kMaxRows * kPanel];
    for (int64_t block = 0; block < blocking_.depths.count; ++block) {
      const Panel<Word> right{right_at(matrix, block, panel), nullptr, 0, 0xFFFF};
      for (int64_t part = 0; part < blocking_.rows.count; ++part) {
        const auto first = blocking_.rows.begin(part), count = blocking_.rows.begin(part + 1) - first;
        float* const to = all.at(matrix, first, panel * kPanel);
        const Target<Word> target{block == 0 ? to : more, nullptr, 0};
        kKernels<Word, true>[static_cast<size_t>(count) - 1][vectors - 1](left_at(block, part), right,
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

  Blocking<Word> blocking_;
  int64_t matrices_;
  at::Tensor packed_, left_, sums_;
};

}  // namespace acc::product

#endif
