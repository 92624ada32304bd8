#pragma once

#include "engine/process_group.h"
#include "engine/sockets.h"
#include "engine/store.h"

namespace acc {

// The connections of a Gloo group to the other ranks. Gloo shows none of them, and by itself notices a peer's end only in calls
// that need something of it, and a host's silence not at all.
class GlooLinks {
 public:
  // `sockets` were remembered before the group was made. Blocks until every rank has its connections. Throws
  // ACC_RENDEZVOUS_FAILED.
  GlooLinks(const NewSockets& sockets, const StorePtr& store, const GroupOptions& options);
  ~GlooLinks() { cut(); }
  GlooLinks(const GlooLinks&) = delete;
  GlooLinks& operator=(const GlooLinks&) = delete;

  std::vector<ProcessGroup::Loss> losses() const;
  uint64_t traffic() const;
  // Closes all, for both sides. What was sent still arrives.
  void cut() const;

 private:
  struct Link {
    int rank;
    Fd socket;
  };
  std::vector<Link> links_;
};

}  // namespace acc
