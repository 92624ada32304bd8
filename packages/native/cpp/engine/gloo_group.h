#pragma once

#include "engine/process_group.h"

namespace acc {

struct GlooAddress {
  // The address, or with `by_interface` the network interface, that peers reach this rank by.
  std::string name;
  bool by_interface = false;
};

// A Gloo process group over `store`. Blocks until every rank has come. Throws ACC_RENDEZVOUS_FAILED, ACC_PEER_LOST.
std::shared_ptr<ProcessGroup> create_gloo_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                const GroupOptions& options, const GlooAddress& address);

}  // namespace acc
