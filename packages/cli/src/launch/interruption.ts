import { endOfPress } from '@acc/platform/ending';

/** Signals that end the job. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/**
 * Slurm's `--signal` sends it some time before a job is ended. Ranks that can save a checkpoint
 * save it and exit.
 */
const WARNING = 'SIGUSR1';

/** How often the launcher looks whether its parent still runs. */
const PARENT_CHECK_MS = 1_000;

/** Handles the launcher's signals while a job runs. `dispose` restores the default behaviour. */
export class Interruption {
  /** Resolves with the first signal. */
  readonly first: Promise<NodeJS.Signals>;
  readonly #listener: (signal: NodeJS.Signals) => void;
  readonly #warn: () => void;
  readonly #parentCheck: NodeJS.Timeout | undefined;
  #wasWarned = false;

  /**
   * @param onRepeat Called for each further signal.
   * @param onWarning Called for each SIGUSR1. The job continues.
   * @param isBoundToParent Whether the end of the parent process counts as SIGTERM. npx may be killed
   * before it passes a signal on.
   */
  constructor(onRepeat: () => void, onWarning: () => void, isBoundToParent = false) {
    this.#warn = () => {
      this.#wasWarned = true;
      onWarning();
    };
    process.on(WARNING, this.#warn);
    let [isFirst, takesSecondPress] = [true, false];
    let resolveFirst: (signal: NodeJS.Signals) => void;
    this.first = new Promise((resolve) => (resolveFirst = resolve));
    this.#listener = (signal) => {
      if (takesSecondPress) onRepeat();
      if (!isFirst) return;
      isFirst = false;
      resolveFirst(signal);
      void endOfPress().then(() => (takesSecondPress = true));
    };
    for (const signal of SIGNALS) process.on(signal, this.#listener);
    if (isBoundToParent) this.#parentCheck = this.#watchParent();
  }

  #watchParent(): NodeJS.Timeout {
    const parent = process.ppid;
    const check = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(check);
      this.#listener('SIGTERM');
    }, PARENT_CHECK_MS);
    return check.unref();
  }

  /** Whether a warning came that the job will end soon. */
  get wasWarned(): boolean {
    return this.#wasWarned;
  }

  dispose(): void {
    clearInterval(this.#parentCheck);
    process.off(WARNING, this.#warn);
    for (const signal of SIGNALS) process.off(signal, this.#listener);
  }
}
