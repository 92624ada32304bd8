#pragma once

#include "engine/process_group.h"

namespace acc {

// Where a rank stands among the hosts of its job.
struct HostLayout {
  int host = 0;
  int hosts = 1;
  int local_rank = 0;
  int local_size = 1;
};

// Ranks of several hosts that each share memory, and Gloo between hosts: an all-reduce crosses the network once a host
// instead of once a rank (Horovod's hierarchical allreduce; Sergeev and Del Balso 2018, arXiv:1802.05799). Everything
// else goes by Gloo between all ranks. Peers reach this rank by `address`. Blocks until every rank has come. Throws
// ACC_ENGINE_UNAVAILABLE, ACC_RENDEZVOUS_FAILED, ACC_PEER_LOST.
std::shared_ptr<ProcessGroup> create_hierarchical_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                        const GroupOptions& options, const std::string& address,
                                                        const HostLayout& layout);

}  // namespace acc
