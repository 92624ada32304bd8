#include "engine/groups/rank_names.h"

namespace acc {

int RankNames::store_keeper() const {
  if (world_ranks_.empty()) return 0;
  for (size_t rank = 0; rank < world_ranks_.size(); ++rank) {
    if (world_ranks_[rank] == 0) return static_cast<int>(rank);
  }
  return -1;
}

std::string RankNames::of(const std::vector<int>& ranks) const {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i > 0 ? ", " : "") + number(ranks[i]);
  return text;
}

std::string RankNames::number(int rank) const {
  const auto text = std::to_string(rank);
  const auto place = static_cast<size_t>(rank);
  if (place >= world_ranks_.size() || world_ranks_[place] == rank) return text;
  return text + " (world rank " + std::to_string(world_ranks_[place]) + ")";
}

}  // namespace acc
