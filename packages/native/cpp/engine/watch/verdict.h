#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/rank_names.h"

namespace acc {

// What broke a group. The first that any rank finds holds for all of them.
struct Verdict {
  enum class Kind : int {
    kDied = 0,      // the rank's process has ended
    kLeft = 1,      // it has closed the group
    kSilent = 2,    // its host no longer answers
    kLate = 3,      // it did not come within the time-out; no rank where all came, and the call did not end
    kMismatch = 4,  // ranks called different things; `number` is the call
    kFailed = 5,    // the engine failed on it
  };
  Kind kind = Kind::kFailed;
  std::vector<int> ranks;
  int32_t number = 0;
  // Who found it.
  int by = 0;

  std::string text() const;
  static std::optional<Verdict> from_text(const std::string& text);

  // The AccError's code, and what happened, in words.
  const char* code() const;
  std::string message(long timeout_ms, const RankNames& rank_names) const;
};

}  // namespace acc
