#pragma once

#include <functional>

#include "engine/process_group.h"
#include "engine/shm/segment.h"

namespace acc::shm {

// Brings the ranks' memory together through `store`: rank 0 makes it, the others open it, and `attach` gets each one's
// when all have it and have written their process numbers. What fails on one rank, in `attach` too, fails on all:
// ACC_ENGINE_UNAVAILABLE with each rank's reason. Throws ACC_RENDEZVOUS_FAILED when ranks do not come in time.
void meet(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options,
          const std::function<void(Segment)>& attach);

}  // namespace acc::shm
