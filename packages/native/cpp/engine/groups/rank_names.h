#pragma once

#include <string>
#include <vector>

namespace acc {

// Names the ranks of a group in messages. A rank of a sub-group is named with its rank in the job
// if that differs: `rank 1 (world rank 3)`.
class RankNames {
 public:
  // The names for the group of all ranks.
  RankNames() = default;
  // The names for a sub-group: `world_ranks[r]` is the job's rank of rank r.
  explicit RankNames(std::vector<int> world_ranks) : world_ranks_(std::move(world_ranks)) {}

  bool is_subgroup() const { return !world_ranks_.empty(); }
  // Empty for the group of all ranks.
  const std::vector<int>& world_ranks() const { return world_ranks_; }
  // The rank whose process holds the job's store; -1 if it is not in the group.
  int store_keeper() const;

  // For example `rank 1`.
  std::string of(int rank) const { return "rank " + number(rank); }
  // For example `ranks 0, 2`.
  std::string of(const std::vector<int>& ranks) const;

 private:
  std::string number(int rank) const;

  std::vector<int> world_ranks_;
};

}  // namespace acc
