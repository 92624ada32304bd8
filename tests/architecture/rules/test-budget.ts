/** The limits of the tests of the projects e2e, ranks and hosts together. See CONTRIBUTING.md. */
export const BUDGET = {
  /** Jobs of rank processes that files start for themselves. */
  launches: 190,
  /** Processes of these jobs. */
  ranks: 410,
  /** Modules on continuous ranks. */
  modules: 300,
  /** Processes of Node.js. */
  processes: 1_500,
  /** Steps: backward passes on all ranks. */
  backwardPasses: 100_000,
} as const;

/** The limits of one file. A larger one keeps a core busy while all others have ended. */
export const FILE_BUDGET = {
  launches: 16,
  ranks: 50,
  modules: 16,
  processes: 90,
  backwardPasses: 12_000,
} as const;
