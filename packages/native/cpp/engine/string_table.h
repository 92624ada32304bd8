#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/error.h"

namespace acc {

// Strings that go into the call buffer as numbers. They are few (modes, device names), so none is ever released.
class StringTable {
 public:
  int intern(const std::string& text) {
    const auto [entry, is_new] = index_.try_emplace(text, static_cast<int>(strings_.size()));
    if (is_new) strings_.push_back(text);
    return entry->second;
  }

  const std::string& get(double index) const {
    if (!(index >= 0) || index >= static_cast<double>(strings_.size())) {
      throw Error(kInvalidArgument, "a string argument is not interned");
    }
    return strings_[static_cast<size_t>(index)];
  }

 private:
  std::vector<std::string> strings_;
  std::unordered_map<std::string, int> index_;
};

}  // namespace acc
