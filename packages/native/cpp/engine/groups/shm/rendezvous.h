#pragma once

#include <functional>

#include "engine/groups/process_group.h"
#include "engine/groups/shm/segment.h"

namespace acc::shm {

// Sets up the shared memory of the ranks through `store`. Rank 0 creates it and the others open it.
// When all have opened it and have written their process ids, each rank calls `attach` with its
// segment. A failure on one rank, also in `attach`, fails every rank with ACC_ENGINE_UNAVAILABLE
// and each failed rank's reason. Throws ACC_RENDEZVOUS_FAILED when ranks do not arrive in time.
void meet(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options,
          const std::function<void(Segment)>& attach);

}  // namespace acc::shm
