/** The engine of a group and its parameters. */
export type EngineSpec =
  /** Shared memory, for ranks of one host with tensors on the CPU. */
  | { readonly engine: 'shm' }
  /** Sockets. `address` is the address of this host by which peers reach it. */
  | { readonly engine: 'gloo'; readonly address: string }
  /**
   * Several hosts, tensors on the CPU. All-reduce uses shared memory within each host. All other
   * collectives use Gloo.
   */
  | { readonly engine: 'hierarchical'; readonly address: string; readonly layout: HostLayout }
  /**
   * The MPI of the cluster, for tensors on the CPU and processes that mpirun or srun started. The
   * first group of a process must contain all ranks. `library` is the result of `buildMpi`.
   */
  | { readonly engine: 'mpi'; readonly library: string }
  /**
   * NCCL, for tensors on GPUs. Each rank has its own GPU. `streamWaits`: the GPU's stream waits for a
   * collective, and the host goes on. Default false.
   */
  | { readonly engine: 'nccl'; readonly address: string; readonly streamWaits?: boolean };

/** The position of a rank among the hosts of its job. */
export interface HostLayout {
  /** The number of this host, from 0. */
  readonly host: number;
  readonly hosts: number;
  /** The number of this rank among the ranks of its host, from 0. */
  readonly localRank: number;
  readonly localSize: number;
}
