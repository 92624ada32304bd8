#pragma once

#include "engine/groups/process_group.h"

namespace acc {

// A Gloo process group that meets through `store`. Peers reach this rank at `address`, an address
// of this host. Blocks until every rank has joined. Throws ACC_RENDEZVOUS_FAILED, ACC_PEER_LOST.
std::shared_ptr<ProcessGroup> create_gloo_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                const GroupOptions& options, const std::string& address);

}  // namespace acc
