#include "engine/error.h"
#include "engine/groups/mpi/group.h"

namespace acc {

std::shared_ptr<ProcessGroup> create_mpi_group(const std::string&, const GroupOptions&) {
  throw Error(kEngineUnavailable, "The engine mpi needs Linux.");
}

}  // namespace acc
