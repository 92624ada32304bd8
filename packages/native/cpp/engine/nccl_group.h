#pragma once

#include <string>

#include "engine/process_group.h"

namespace acc {

// Why ranks cannot talk by NCCL here; empty where they can.
std::string nccl_unavailable_reason();

// Names the GPU, alike in all processes that see it; -1 is the current one. Only where nothing is in the way of NCCL.
std::string gpu_id(int index);

// A group over NCCL (c10d's ProcessGroupNCCL), for tensors on GPUs of which each rank has one of its own; `control` is a group of
// the same ranks over sockets, which tells of ranks that are lost, and moves tensors of the CPU. Throws ACC_ENGINE_UNAVAILABLE,
// ACC_RENDEZVOUS_FAILED.
std::shared_ptr<ProcessGroup> create_nccl_group(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options,
                                                std::shared_ptr<ProcessGroup> control);

}  // namespace acc
