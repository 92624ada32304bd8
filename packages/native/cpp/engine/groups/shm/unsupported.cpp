// Replaces group.cpp and hierarchical_group.cpp on systems without memfd, futex and pidfd.
#include "engine/error.h"
#include "engine/groups/hierarchical_group.h"
#include "engine/groups/shm/group.h"

namespace acc {

std::string shm_unavailable_reason() { return "it needs Linux"; }

std::shared_ptr<ProcessGroup> create_shm_group(const c10::intrusive_ptr<c10d::Store>&, const GroupOptions&) {
  throw Error(kEngineUnavailable, shm_unavailable_reason());
}

std::shared_ptr<ProcessGroup> create_hierarchical_group(const c10::intrusive_ptr<c10d::Store>&, const GroupOptions&,
                                                        const std::string&, const HostLayout&) {
  throw Error(kEngineUnavailable, shm_unavailable_reason());
}

}  // namespace acc
