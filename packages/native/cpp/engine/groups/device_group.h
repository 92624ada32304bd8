#pragma once

#include <functional>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "engine/groups/process_group.h"

namespace acc {

// Added to a backend's own time-out, so that the watch's error comes first. The watch's error says more.
inline constexpr std::chrono::milliseconds kDevicePatience(30'000);

// Who waits for a collective on a device: the host, or the stream of the device that uses the result.
enum class DeviceWaits { kHost, kStream };

struct DeviceGroupSpec {
  // For messages: "NCCL".
  std::string name;
  DeviceWaits waits = DeviceWaits::kHost;
  // A group of the same ranks over sockets. It reports lost ranks, and moves CPU tensors and all messages
  // between two ranks.
  std::shared_ptr<ProcessGroup> control;
  // Makes the backend, whose collectives run on streams of the device.
  std::function<c10::intrusive_ptr<c10d::Backend>(const c10::intrusive_ptr<c10d::Store>&)> make;
};

// A group for tensors on the current device, of which each rank has its own.
// Throws ACC_ENGINE_UNAVAILABLE, on all ranks if one of them cannot make or connect its backend.
std::shared_ptr<ProcessGroup> create_device_group(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options,
                                                  DeviceGroupSpec spec);

}  // namespace acc
