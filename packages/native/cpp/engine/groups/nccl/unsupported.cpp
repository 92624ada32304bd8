#include "engine/error.h"
#include "engine/groups/nccl/group.h"

namespace acc {

std::string nccl_unavailable_reason() {
  return "the addon was built without NCCL, which needs a libtorch for CUDA and CUDA's headers";
}

std::shared_ptr<ProcessGroup> create_nccl_group(const c10::intrusive_ptr<c10d::Store>&, const GroupOptions&,
                                                std::shared_ptr<ProcessGroup>) {
  throw Error(kEngineUnavailable, nccl_unavailable_reason());
}

}  // namespace acc
