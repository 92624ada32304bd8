/** Not used: `requireAvailable` refuses the options that need it. */
export class LoaderWorkers {
  declare steps: never;
  declare close: () => Promise<void>;
}
