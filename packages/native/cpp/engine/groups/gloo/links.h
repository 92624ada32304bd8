#pragma once

#include "engine/groups/process_group.h"
#include "engine/groups/sockets.h"
#include "engine/groups/store.h"

namespace acc {

// The connections of a Gloo group to the other ranks. Gloo does not expose them. Gloo itself
// detects the end of a peer only in calls that need data from it, and does not detect a silent
// host.
class GlooLinks {
 public:
  // `sockets` was constructed before the group. Blocks until every rank has published its
  // connections. Throws ACC_RENDEZVOUS_FAILED.
  GlooLinks(const NewSockets& sockets, const StorePtr& store, const GroupOptions& options);
  ~GlooLinks() { cut(); }
  GlooLinks(const GlooLinks&) = delete;
  GlooLinks& operator=(const GlooLinks&) = delete;

  std::vector<ProcessGroup::Loss> losses() const;
  uint64_t traffic() const;
  // Shuts all connections down, in both directions. Bytes that were already sent still arrive.
  void cut() const;

 private:
  const std::chrono::milliseconds silence_;
  struct Link {
    int rank;
    Fd socket;
  };
  std::vector<Link> links_;
};

}  // namespace acc
