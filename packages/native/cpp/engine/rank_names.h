#pragma once

#include <string>
#include <vector>

namespace acc {

// Ranks of a group, as messages call them. Ranks of a sub-group have a number in the job, too: `rank 1 (world rank 3)`.
class RankNames {
 public:
  // The group of all ranks.
  RankNames() = default;
  // A sub-group: the number in the job of each of its ranks.
  explicit RankNames(std::vector<int> world_ranks) : world_ranks_(std::move(world_ranks)) {}

  bool is_subgroup() const { return !world_ranks_.empty(); }
  // Empty in the group of all ranks.
  const std::vector<int>& world_ranks() const { return world_ranks_; }
  // The rank whose process keeps the job's store; -1 where it is not in the group.
  int store_keeper() const;

  // `rank 1`
  std::string of(int rank) const { return "rank " + number(rank); }
  // `ranks 0, 2`
  std::string of(const std::vector<int>& ranks) const;

 private:
  std::string number(int rank) const;

  std::vector<int> world_ranks_;
};

}  // namespace acc
