#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/groups/watch/bulletin.h"
#include "engine/groups/watch/rank_wait.h"

namespace acc {

// Finds ranks that wait for each other in different groups of a job. A rank that waits longer than
// Patience::deadlock publishes where, and follows the waits of the ranks that it waits for. If they lead back to
// itself, and all of them held at one moment, none of them can end. Only the thread of a Watch calls
// this class.
class DeadlockSearch {
 public:
  DeadlockSearch(std::shared_ptr<StoreLine> line, const GroupOptions& options, const CallLog& log);
  ~DeadlockSearch();
  DeadlockSearch(const DeadlockSearch&) = delete;
  DeadlockSearch& operator=(const DeadlockSearch&) = delete;

  using Cycle = std::vector<RankWait>;
  // `waiting` is the call that this rank's main thread waits for in this group. Returns the waits of
  // a deadlock, each of which is for the next rank, and the last for the first.
  std::optional<Cycle> look(const CallLog::Entry& waiting);

 private:
  using Clock = CallLog::Clock;
  using Waits = std::map<int, RankWait>;

  RankWait own_wait(const CallLog::Entry& waiting) const;
  // The waits that can be reached from `own`, by rank.
  Waits read(const RankWait& own);
  void suspect(const RankWait& own);
  std::optional<Cycle> confirm(const RankWait& own);

  const std::shared_ptr<StoreLine> line_;
  const GroupOptions options_;
  const CallLog& log_;
  std::vector<int> members_;
  Bulletin waits_;

  uint64_t wait_ = 0;
  uint64_t beat_ = 0;
  Clock::time_point next_beat_{};
  Clock::time_point next_search_{};
  Clock::duration pause_{};
  // The waits of a suspected deadlock, read after a moment at which all of them held. Empty if there
  // is no suspicion.
  Waits suspects_;
  int beats_left_ = 0;
};

}  // namespace acc
