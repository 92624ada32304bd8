export const ENGINE_CHOICES = ['auto', 'shm', 'gloo', 'hierarchical', 'nccl', 'mpi'] as const;

/**
 * What moves the bytes between ranks. For tensors of the CPU `auto` takes shared memory where all ranks can reach it,
 * `hierarchical` where ranks of several hosts share memory on each; for those of GPUs `nccl`, where each rank has a GPU of its
 * own; else Gloo. `mpi` is the cluster's own, for programs that mpirun or srun starts.
 */
export type EngineChoice = (typeof ENGINE_CHOICES)[number];
