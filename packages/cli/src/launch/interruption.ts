/** Signals that end the job. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** What Slurm's `--signal` sends some time before it ends a job: ranks that can save, and end by themselves. */
const WARNING = 'SIGUSR1';

/**
 * npx and npm send the terminal's Ctrl-C on to a process that had it already; within this time a second signal is
 * taken for the same key press.
 */
const SAME_PRESS_MS = 200;

/** The launcher's signals while a job runs. `dispose` brings the default behaviour back. */
export class Interruption {
  /** Resolves with the first signal. */
  readonly first: Promise<NodeJS.Signals>;
  readonly #listener: (signal: NodeJS.Signals) => void;
  readonly #warn: () => void;
  #wasWarned = false;

  /**
   * @param onRepeat Called for each further signal.
   * @param onWarning Called for each SIGUSR1, after which the job goes on.
   */
  constructor(onRepeat: () => void, onWarning: () => void) {
    this.#warn = () => {
      this.#wasWarned = true;
      onWarning();
    };
    process.on(WARNING, this.#warn);
    let firstAt: number | undefined;
    let resolveFirst: (signal: NodeJS.Signals) => void;
    this.first = new Promise((resolve) => (resolveFirst = resolve));
    this.#listener = (signal) => {
      if (firstAt === undefined) {
        firstAt = performance.now();
        resolveFirst(signal);
      } else if (performance.now() - firstAt > SAME_PRESS_MS) {
        onRepeat();
      }
    };
    for (const signal of SIGNALS) process.on(signal, this.#listener);
  }

  /** Whether the job is to end soon. */
  get wasWarned(): boolean {
    return this.#wasWarned;
  }

  dispose(): void {
    process.off(WARNING, this.#warn);
    for (const signal of SIGNALS) process.off(signal, this.#listener);
  }
}
