#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/error.h"

namespace acc {

// Strings that the call buffer holds as numbers. There are few of them (modes, device names), so
// none is released.
class StringTable {
 public:
  int intern(const std::string& text) {
    const auto [entry, is_new] = index_.try_emplace(text, static_cast<int>(strings_.size()));
    if (is_new) strings_.push_back(text);
    return entry->second;
  }

  const std::string& get(double index) const {
    if (!(index >= 0) || index >= static_cast<double>(strings_.size())) {
      throw Error(kInvalidArgument, "A string argument has an unknown number.");
    }
    return strings_[static_cast<size_t>(index)];
  }

 private:
  std::vector<std::string> strings_;
  std::unordered_map<std::string, int> index_;
};

}  // namespace acc
