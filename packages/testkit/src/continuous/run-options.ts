export interface RunOnRanksOptions {
  /**
   * The JavaScript or TypeScript module. Each rank calls its default export `(args, ranks) =>
   * result`, which may be async, with this run's `args` and the rank's place in its job
   * (`RankPlace`). A result is a JSON value that may contain typed arrays, NaN, infinities and -0.
   */
  readonly module: string | URL;
  /** The number of processes, all on this host. */
  readonly ranks: number;
  /** The first argument of the module, of the same kinds as results. Default undefined. */
  readonly args?: unknown;
  /** Environment variables in addition to those of this process. Undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * The options with which the module joins the process group, if they are not the defaults.
   * Modules share a job only if these are equal, because a process joins its group once.
   */
  readonly group?: Readonly<Record<string, unknown>>;
  /**
   * A module that each new job runs before all others, with the arguments `group`. It is for what
   * lasts as long as a process, such as its process group, and is not checked for what it leaves.
   */
  readonly warmUp?: string | URL;
  /** The time limit of the module in milliseconds. Default 240,000. */
  readonly timeoutMs?: number;
}
