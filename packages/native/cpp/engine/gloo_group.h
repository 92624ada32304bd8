#pragma once

#include "engine/process_group.h"

namespace acc {

// A Gloo process group over `store`; peers reach this rank by `address`, one of this host's. Blocks until every rank has
// come. Throws ACC_RENDEZVOUS_FAILED, ACC_PEER_LOST.
std::shared_ptr<ProcessGroup> create_gloo_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                const GroupOptions& options, const std::string& address);

}  // namespace acc
