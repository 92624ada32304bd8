#pragma once

#include <string>

#include "engine/groups/device_group.h"

namespace acc {

// Why NCCL is unavailable here; empty if it is available.
std::string nccl_unavailable_reason();

// A group over NCCL (c10d's ProcessGroupNCCL), for tensors on GPUs. Each rank has a GPU of its own.
// `control`: see DeviceGroupSpec.
// Throws ACC_ENGINE_UNAVAILABLE.
std::shared_ptr<ProcessGroup> create_nccl_group(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options,
                                                std::shared_ptr<ProcessGroup> control, DeviceWaits waits);

}  // namespace acc
