#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/processor/row_math.h"

namespace acc::fused {

ACC_EVERY_CPU inline void add_row(const float* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

ACC_EVERY_CPU inline void add_to_doubles(const float* from, int64_t count, double* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

// The sum of each column of rows. A few rows are added in float32, and their sums in float64: the
// error does not grow with the number of rows.
class ColumnSums {
 public:
  explicit ColumnSums(int64_t columns)
      : columns_(columns), recent_(static_cast<size_t>(columns)), total_(static_cast<size_t>(columns)) {}

  void add(const float* elements, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) add_row(elements + r * columns_, columns_, recent_.data());
    rows_ += rows;
    if (rows_ < kRecentRows) return;
    add_to_doubles(recent_.data(), columns_, total_.data());
    recent_.assign(recent_.size(), 0.f);
    rows_ = 0;
  }

  void add_to(std::vector<double>& total) const {
    for (size_t i = 0; i < total.size(); ++i) total[i] += total_[i] + static_cast<double>(recent_[i]);
  }

 private:
  static constexpr int64_t kRecentRows = 16;

  int64_t columns_;
  int64_t rows_ = 0;
  std::vector<float> recent_;
  std::vector<double> total_;
};

}  // namespace acc::fused
