#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace acc::fused::machine_code {

// Which value each vector register has while the code of one kernel is written. If all are taken, the
// value whose next use is furthest is given up.
class VectorRegisters {
 public:
  static constexpr int kCount = 32;
  // A key of no value.
  static constexpr int kFree = -1, kTemporary = -2;

  struct GivenUp {
    int key, reg;
  };

  // `uses` has the positions at which each key is read, in ascending order.
  void begin(const std::map<int, std::vector<int>>* uses, const std::map<int, int>& pinned) {
    uses_ = uses;
    keys_.fill(kFree);
    is_locked_.fill(false);
    is_pinned_.fill(false);
    for (const auto& [key, reg] : pinned) {
      keys_[static_cast<size_t>(reg)] = key;
      is_pinned_[static_cast<size_t>(reg)] = true;
    }
  }

  std::optional<int> find(int key) const {
    for (int reg = 0; reg < kCount; ++reg) {
      if (keys_[static_cast<size_t>(reg)] == key) return reg;
    }
    return std::nullopt;
  }

  // A register for `key`, and the value that it had, if that is used at `position` or later.
  int take(int key, int position, std::optional<GivenUp>& given_up) {
    int best = -1, furthest = -1;
    for (int reg = 0; reg < kCount; ++reg) {
      const auto r = static_cast<size_t>(reg);
      if (is_locked_[r] || is_pinned_[r]) continue;
      const int next = keys_[r] < 0 ? std::numeric_limits<int>::max() : next_use(keys_[r], position - 1);
      if (next > furthest) {
        furthest = next;
        best = reg;
      }
    }
    const auto r = static_cast<size_t>(best);
    if (keys_[r] >= 0 && furthest < std::numeric_limits<int>::max()) given_up = GivenUp{keys_[r], best};
    keys_[r] = key;
    is_locked_[r] = true;
    return best;
  }

  void lock(int reg) { is_locked_[static_cast<size_t>(reg)] = true; }

  // At the end of a step. Temporary registers and values that nobody reads later are free again.
  void unlock(int position) {
    for (size_t r = 0; r < keys_.size(); ++r) {
      is_locked_[r] = false;
      if (is_pinned_[r] || keys_[r] == kFree) continue;
      if (keys_[r] == kTemporary || next_use(keys_[r], position) == std::numeric_limits<int>::max()) keys_[r] = kFree;
    }
  }

 private:
  int next_use(int key, int position) const {
    const auto found = uses_->find(key);
    if (found == uses_->end()) return std::numeric_limits<int>::max();
    for (const int use : found->second) {
      if (use > position) return use;
    }
    return std::numeric_limits<int>::max();
  }

  const std::map<int, std::vector<int>>* uses_ = nullptr;
  std::array<int, kCount> keys_;
  std::array<bool, kCount> is_locked_, is_pinned_;
};

}  // namespace acc::fused::machine_code
