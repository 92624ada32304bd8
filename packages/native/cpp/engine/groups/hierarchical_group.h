#pragma once

#include "engine/groups/process_group.h"

namespace acc {

// The position of a rank among the hosts of its job.
struct HostLayout {
  int host = 0;
  int hosts = 1;
  int local_rank = 0;
  int local_size = 1;
};

// A group for several hosts: shared memory within each host, Gloo between hosts. An all-reduce
// crosses the network once per host instead of once per rank (Horovod's hierarchical allreduce;
// Sergeev and Del Balso 2018, arXiv:1802.05799). All other calls use Gloo between all ranks. Peers
// reach this rank at `address`. Blocks until every rank has joined. Throws ACC_ENGINE_UNAVAILABLE,
// ACC_RENDEZVOUS_FAILED, ACC_PEER_LOST.
std::shared_ptr<ProcessGroup> create_hierarchical_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                        const GroupOptions& options, const std::string& address,
                                                        const HostLayout& layout);

}  // namespace acc
