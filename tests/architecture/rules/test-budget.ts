/** The limits of the tests of the projects e2e, ranks and hosts together. See CONTRIBUTING.md. */
export const BUDGET = {
  /** Jobs of rank processes that files start for themselves. */
  launches: 190,
  /** Processes of these jobs. */
  ranks: 410,
  /** Modules on continuous ranks. */
  modules: 295,
  /** Processes of Node.js. */
  processes: 1_450,
  /** Steps: backward passes on all ranks. */
  backwardPasses: 113_000,
} as const;

/** The limits of one file. A larger one keeps a core busy while all others have ended. */
export const FILE_BUDGET = {
  launches: 15,
  ranks: 45,
  modules: 15,
  processes: 80,
  backwardPasses: 11_000,
} as const;
