#include <dlfcn.h>

#include "engine/error.h"
#include "engine/groups/nccl/group.h"

namespace acc {
namespace {

// The collectives of another device: a library that was loaded before the addon brings them, with the
// device. tests/device has such a library.
using Make = void (*)(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                      c10::intrusive_ptr<c10d::Backend>& made);

Make brought() { return reinterpret_cast<Make>(dlsym(RTLD_DEFAULT, "acc_make_device_backend")); }

}  // namespace

std::string nccl_unavailable_reason() {
  if (brought() != nullptr) return "";
  return "the addon was built without NCCL, which needs a libtorch for CUDA and CUDA's headers";
}

std::shared_ptr<ProcessGroup> create_nccl_group(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options,
                                                std::shared_ptr<ProcessGroup> control, DeviceWaits waits) {
  const auto make_of_library = brought();
  if (make_of_library == nullptr) throw Error(kEngineUnavailable, nccl_unavailable_reason());
  const auto make = [&](const c10::intrusive_ptr<c10d::Store>& own) {
    c10::intrusive_ptr<c10d::Backend> made;
    make_of_library(own, options.rank, options.size, made);
    return made;
  };
  return create_device_group(store, options, {"the device's collectives", waits, std::move(control), make});
}

}  // namespace acc
