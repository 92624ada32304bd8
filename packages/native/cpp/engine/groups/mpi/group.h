#pragma once

#include "engine/groups/process_group.h"

namespace acc {

// A group of the processes that mpirun or srun started, over the cluster's MPI. `library` is the
// library that `acc setup --mpi` built. The first group of a process contains all ranks: it loads
// the library and initializes MPI. Later groups are sub-groups. Blocks until all members have
// joined. Throws ACC_ENGINE_UNAVAILABLE, and for a sub-group ACC_COLLECTIVE_FAILED.
std::shared_ptr<ProcessGroup> create_mpi_group(const std::string& library, const GroupOptions& options);

}  // namespace acc
