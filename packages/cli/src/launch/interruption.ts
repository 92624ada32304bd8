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
/** Read early: npx may be killed before the ranks start. */
const PARENT = process.ppid;

/**
 * Whether npx started this launcher. Programs that npx starts, and all processes below them, have npx's
 * variables, too.
 */
export function isStartedByNpx(env: NodeJS.ProcessEnv): boolean {
  return env.npm_lifecycle_event === 'npx' && /^'?acc'?(\s|$)/.test(env.npm_lifecycle_script ?? '');
}

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
   * @param isBoundToParent Whether the end of the parent process counts as SIGTERM if no signal came before.
   * npx may be killed before it passes a signal on.
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
    const begin = (signal: NodeJS.Signals): void => {
      if (!isFirst) return;
      isFirst = false;
      resolveFirst(signal);
      void endOfPress().then(() => (takesSecondPress = true));
    };
    this.#listener = (signal) => {
      if (takesSecondPress) onRepeat();
      begin(signal);
    };
    for (const signal of SIGNALS) process.on(signal, this.#listener);
    if (isBoundToParent) {
      // The parent may end because of a signal that this process has, too. So its end is never a second press.
      this.#parentCheck = setInterval(() => {
        if (process.ppid !== PARENT) begin('SIGTERM');
      }, PARENT_CHECK_MS).unref();
    }
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
