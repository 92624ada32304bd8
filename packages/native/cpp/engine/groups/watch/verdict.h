#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/groups/rank_names.h"

namespace acc {

// The reason why a group is broken. The first verdict that any rank publishes holds for all ranks.
struct Verdict {
  enum class Kind : int {
    kDied = 0,      // the rank's process has ended
    kLeft = 1,      // the rank has closed the group
    kSilent = 2,    // the rank's host no longer answers
    kLate = 3,      // not in time; `ranks` is empty if all came and the call did not end
    kMismatch = 4,  // ranks made different calls; `number` is the call
    kFailed = 5,    // the engine failed on the rank
    kDeadlock = 6,  // ranks wait for each other in several groups; `cycle` has their waits
  };
  Kind kind = Kind::kFailed;
  std::vector<int> ranks;
  int32_t number = 0;
  // The rank that found it.
  int by = 0;
  // A JSON array of RankWait::json, each for the next one's rank.
  std::string cycle = {};

  std::string text() const;
  static std::optional<Verdict> from_text(const std::string& text);

  // The AccError's code, and its message.
  const char* code() const;
  std::string message(long timeout_ms, const RankNames& rank_names) const;
};

}  // namespace acc
