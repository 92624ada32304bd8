#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>

#include "engine/kernels/product/blocking.h"

// How the phases of a recurrence are divided among threads. A phase is a product of [rows, k] and
// [k, columns] and what follows from its sums. A row of it needs the whole row of the phase before, but no
// other row.
namespace acc::product {

// Rows whose sums are used at once.
inline constexpr int64_t kSumsRows = 4;
// Threads divide the rows only if each gets this many. A core multiplies 8 rows by 8 bytes of the right
// matrix in a cycle. With fewer rows it would wait for a matrix that does not fit the L2 cache.
inline constexpr int64_t kShareRows = 8;

// The rows and panels of one thread.
struct Share {
  int64_t index;
  int64_t row, end_row;
  int64_t panel, end_panel;

  int64_t rows() const { return end_row - row; }
};

class Shares {
 public:
  // `work` is the number of multiplications of words in one phase.
  Shares(int64_t rows, int64_t columns, int64_t work, int64_t phases)
      : rows_(rows), row_parts_{ceil_div(rows, kSumsRows), 1}, panel_parts_{ceil_div(columns, kPanel), 1} {
    const auto threads = at::get_num_threads();
    // Threads that divide rows meet once, those that divide columns meet in each phase.
    const auto by_rows = work * phases >= kThreadedWork ? std::clamp<int64_t>(rows / kShareRows, 1, threads) : 1;
    const bool divides_columns = work >= kThreadedWork;
    auto least = row_parts_.size * panel_parts_.size + 1;
    for (int64_t count = by_rows; count >= 1; --count) {
      const auto panels = divides_columns ? std::clamp<int64_t>(threads / count, 1, panel_parts_.size) : 1;
      const auto largest = ceil_div(row_parts_.size, count) * ceil_div(panel_parts_.size, panels);
      if (largest >= least) continue;
      least = largest;
      row_parts_.count = count;
      panel_parts_.count = panels;
    }
  }

  int64_t rows() const { return rows_; }
  // The parts in which the sums are used: they do not depend on the number of threads.
  int64_t parts() const { return row_parts_.size; }
  int64_t count() const { return row_parts_.count * panel_parts_.count; }
  int64_t most_rows() const { return ceil_div(row_parts_.size, row_parts_.count) * kSumsRows; }

  // Calls run(share, phase) for the shares of each phase, in the order of phases.
  template <typename Run>
  void for_phases(int64_t phases, const Run& run) const {
    const auto for_shares = [&](const auto& use) {
      at::parallel_for(0, count(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t index = begin; index < end; ++index) use(share(index));
      });
    };
    if (panel_parts_.count > 1) {
      for (int64_t phase = 0; phase < phases; ++phase) for_shares([&](const Share& share) { run(share, phase); });
      return;
    }
    for_shares([&](const Share& share) {
      for (int64_t phase = 0; phase < phases; ++phase) run(share, phase);
    });
  }

 private:
  Share share(int64_t index) const {
    const auto of_rows = index / panel_parts_.count, of_panels = index % panel_parts_.count;
    return {index, row_parts_.begin(of_rows) * kSumsRows, std::min(row_parts_.begin(of_rows + 1) * kSumsRows, rows_),
            panel_parts_.begin(of_panels), panel_parts_.begin(of_panels + 1)};
  }

  int64_t rows_;
  // Of kSumsRows rows, and of panels.
  Parts row_parts_, panel_parts_;
};

}  // namespace acc::product
