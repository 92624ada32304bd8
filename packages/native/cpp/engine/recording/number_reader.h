#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "engine/error.h"

namespace acc {

// Reads the numbers of a plan one after the other. Throws ACC_INVALID_ARGUMENT.
class NumberReader {
 public:
  explicit NumberReader(const std::vector<double>& numbers)
      : at_(numbers.data()), end_(numbers.data() + numbers.size()) {}

  bool is_at_end() const { return at_ == end_; }

  double number() {
    if (is_at_end()) throw Error(kInvalidArgument, "The plan of a recording ends too early.");
    return *at_++;
  }

  // An integer from `least` to below `limit`. `what` is for the message.
  int64_t integer(int64_t least, int64_t limit, const char* what) {
    const double value = number();
    const bool is_within = value >= static_cast<double>(least) && value < static_cast<double>(limit);
    if (!is_within || value != std::floor(value)) {
      throw Error(kInvalidArgument, std::string("The plan of a recording contains an invalid ") + what + ".");
    }
    return static_cast<int64_t>(value);
  }

  // A number of items, an index or the like: an integer from 0 to below `limit`.
  size_t below(size_t limit, const char* what) {
    return static_cast<size_t>(integer(0, static_cast<int64_t>(limit), what));
  }

 private:
  const double* at_;
  const double* end_;
};

}  // namespace acc
