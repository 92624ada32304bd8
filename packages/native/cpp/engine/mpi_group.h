#pragma once

#include "engine/process_group.h"

namespace acc {

// A group of the processes that mpirun, or srun, has started, over the cluster's MPI. `library` is what `acc setup --mpi` built;
// it is loaded, and MPI begins, with the first group of a process, which has all ranks; later ones are sub-groups. Blocks until all
// members have come. Throws ACC_ENGINE_UNAVAILABLE.
std::shared_ptr<ProcessGroup> create_mpi_group(const std::string& library, const GroupOptions& options);

}  // namespace acc
