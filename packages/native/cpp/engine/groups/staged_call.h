#pragma once

#include <functional>

#include "engine/groups/process_group.h"

namespace acc {

// Whether all tensors of the call are in host memory.
bool is_on_host(const CollectiveCall& call);

// Runs a call by `start`, for which tensors must be in host memory. The tensors of a device are copied
// to pinned memory, which waits for the kernels that write them. The wait copies back what the call
// writes on `rank`, which is this one.
std::shared_ptr<Pending> start_on_host(const CollectiveCall& call, int rank,
                                       const std::function<std::shared_ptr<Pending>(CollectiveCall)>& start);

}  // namespace acc
