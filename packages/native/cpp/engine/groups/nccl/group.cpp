#include "engine/groups/nccl/group.h"

#include <ATen/cuda/CUDAContext.h>

#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace acc {
namespace {

// By default c10d ends the process after a failure. Here the watch reports the failure as an error
// instead. Settings of the user are kept.
void leave_errors_to_us() {
  ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", 0);
  ::setenv("TORCH_NCCL_ENABLE_MONITORING", "0", 0);
}

}  // namespace

std::string nccl_unavailable_reason() { return at::cuda::device_count() > 0 ? "" : "there is no GPU"; }

std::shared_ptr<ProcessGroup> create_nccl_group(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options,
                                                std::shared_ptr<ProcessGroup> control, DeviceWaits waits) {
  leave_errors_to_us();
  const auto make = [&](const c10::intrusive_ptr<c10d::Store>& own) -> c10::intrusive_ptr<c10d::Backend> {
    auto nccl_options = c10d::ProcessGroupNCCL::Options::create();
    nccl_options->timeout = options.timeout + kDevicePatience;
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(own, options.rank, options.size, nccl_options);
  };
  return create_device_group(store, options, {"NCCL", waits, std::move(control), make});
}

}  // namespace acc
