export const ENGINE_CHOICES = ['auto', 'shm', 'gloo', 'hierarchical', 'nccl', 'mpi'] as const;

/**
 * The engine that moves data between ranks. For tensors on the CPU, `auto` uses shared memory if
 * all ranks can reach it, and `hierarchical` if several hosts each have ranks that share memory.
 * For tensors on GPUs it uses `nccl` if each rank has its own GPU. Otherwise it uses Gloo. `mpi` is
 * the MPI of the cluster, for programs that mpirun or srun starts.
 */
export type EngineChoice = (typeof ENGINE_CHOICES)[number];
