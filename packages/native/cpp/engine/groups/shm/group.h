#pragma once

#include "engine/groups/process_group.h"

namespace acc {

// Why ranks cannot share memory on this system; empty if they can.
std::string shm_unavailable_reason();

// A process group whose ranks run on one host and communicate through shared memory. Blocks until
// every rank has joined. If one rank cannot open the memory, every rank throws
// ACC_ENGINE_UNAVAILABLE with the reasons. Throws ACC_RENDEZVOUS_FAILED.
std::shared_ptr<ProcessGroup> create_shm_group(const c10::intrusive_ptr<c10d::Store>& store,
                                               const GroupOptions& options);

}  // namespace acc
