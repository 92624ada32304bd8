/** What a process needs to find the others of its job. */
export interface RankPlace {
  readonly rank: number;
  readonly size: number;
  /** Host of rank 0, where the job's store lives. */
  readonly masterAddress: string;
  readonly masterPort: number;
  /** Set by the launcher; processes of different jobs never form a group. */
  readonly jobToken: string;
  /** True when all ranks run on one host: traffic then stays on the loopback interface, if `masterAddress` is one of its own. */
  readonly isOneHost: boolean;
}
