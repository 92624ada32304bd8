#pragma once

#include "engine/process_group.h"

namespace acc {

// Why this system has no shared memory for ranks; empty where it has.
std::string shm_unavailable_reason();

// A process group of ranks on one host that talk through shared memory. Blocks until every rank has come. Where one of them
// cannot reach the memory every rank throws ACC_ENGINE_UNAVAILABLE, with the reasons. Throws ACC_RENDEZVOUS_FAILED.
std::shared_ptr<ProcessGroup> create_shm_group(const c10::intrusive_ptr<c10d::Store>& store,
                                               const GroupOptions& options);

}  // namespace acc
