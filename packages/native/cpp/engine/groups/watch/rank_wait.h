#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/groups/watch/call_log.h"

namespace acc {

// A wait of one rank's main thread, as the rank publishes it for the ranks of all groups. The rank
// begins no other call while it waits, so `begun` stays true until the wait ends.
struct RankWait {
  // The rank in the job.
  int rank = 0;
  std::string group;
  bool is_whole_job = false;
  // The ranks of the group, as ranks in the job.
  std::vector<int> members;
  CallLog::Entry call;
  // Grows each time that the rank finds that it still waits.
  uint64_t beat = 0;
  // The calls that the rank has begun, by the name of the group.
  std::map<std::string, CallLog::Begun> begun;

  bool is_same(const RankWait& other) const { return group == other.group && call.wait == other.call.wait; }
  // Whether the call cannot end before `other` ends its own wait and begins it.
  bool is_for(const RankWait& other) const;

  std::string text() const;
  static std::optional<RankWait> from_text(const std::string& text);
  // For JavaScript: {rank, group, number, isSend, peer, words}. `group` is empty for all ranks.
  std::string json() const;
};

}  // namespace acc
