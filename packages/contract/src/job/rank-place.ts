/** The information with which a process finds the others of its job. */
export interface RankPlace {
  readonly rank: number;
  readonly size: number;
  /** The address of the host of rank 0, which runs the job's store. */
  readonly masterAddress: string;
  readonly masterPort: number;
  /** Set by the launcher. Processes with different tokens never form a group. */
  readonly jobToken: string;
  /**
   * Whether all ranks run on one host. Traffic then stays on the loopback interface if
   * `masterAddress` is a loopback address.
   */
  readonly isOneHost: boolean;
}
