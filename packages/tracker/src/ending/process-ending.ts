import { inspect } from 'node:util';
import type { RunStatus } from '@acc/contract';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** npx and npm send the terminal's Ctrl-C on to a process that had it already: within this time it is the same key press. */
const SAME_PRESS_MS = 300;
/** A loop that gives the event loop no turn for so long would not hear a signal in time. */
const DEAF_MS = 1_500;
const TURN_MS = 500;

export interface EndingHandlers {
  /** Ends the runs, in the time that is left for it. */
  readonly finish: (status: RunStatus) => Promise<void>;
  /** The same without waiting for anything: the process ends when it returns. */
  readonly finishNow: (status: RunStatus) => void;
}

/**
 * Watches for the ways in which a process ends with a run that was not finished: a signal, an uncaught error,
 * `process.exit`, or nothing left to do. Signals and errors then have the effect that they have without it.
 */
export class ProcessEnding {
  readonly #handlers: EndingHandlers;
  readonly #turns: NodeJS.Timeout;
  #turnedAtMs = performance.now();
  #isListening = false;
  #firstSignalMs: number | undefined;
  #isEnding = false;
  #wasInterrupted = false;

  constructor(handlers: EndingHandlers) {
    this.#handlers = handlers;
    process.on('uncaughtException', this.#onError);
    process.on('beforeExit', this.#onIdle);
    process.on('exit', this.#onExit);
    this.#listen();
    this.#turns = setInterval(() => {
      this.#turnedAtMs = performance.now();
      this.#listen();
    }, TURN_MS);
    this.#turns.unref();
  }

  /**
   * Called in each step. While a loop keeps the event loop from turning, signals are left to the system, which ends
   * the process at once: a program that Ctrl-C does not end is worse than a run that is finished by the next one.
   *
   * @returns True where the event loop has not turned for long.
   */
  beat(): boolean {
    const isDeaf = performance.now() - this.#turnedAtMs > DEAF_MS;
    if (isDeaf && !this.#isEnding) this.#unlisten();
    return isDeaf;
  }

  dispose(): void {
    clearInterval(this.#turns);
    process.off('uncaughtException', this.#onError);
    process.off('beforeExit', this.#onIdle);
    process.off('exit', this.#onExit);
    this.#unlisten();
  }

  #listen(): void {
    if (this.#isListening || this.#isEnding) return;
    this.#isListening = true;
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
  }

  #unlisten(): void {
    this.#isListening = false;
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    this.#wasInterrupted = true;
    // Somebody else sees to the signal: the end comes by them.
    if (process.listenerCount(signal) > 1) return;
    const now = performance.now();
    if (this.#firstSignalMs !== undefined) {
      if (now - this.#firstSignalMs > SAME_PRESS_MS) this.#leave(signal);
      return;
    }
    this.#firstSignalMs = now;
    // After an error the process ends anyway, and soon.
    if (this.#isEnding) return;
    this.#isEnding = true;
    void this.#handlers.finish('aborted').finally(() => this.#leave(signal));
  };

  /** What the signal does to a process that does not listen. */
  #leave(signal: NodeJS.Signals): void {
    this.dispose();
    process.kill(process.pid, signal);
  }

  readonly #onError = (error: unknown): void => {
    // Somebody else handles errors, and the program may go on.
    if (process.listenerCount('uncaughtException') > 1 || this.#isEnding) return;
    this.#isEnding = true;
    process.stderr.write(`Uncaught ${inspect(error)}\n`);
    void this.#handlers.finish('failed').finally(() => {
      this.dispose();
      process.exit(process.exitCode ?? 1);
    });
  };

  readonly #onIdle = (code: number): void => {
    if (this.#isEnding) return;
    this.#isEnding = true;
    void this.#handlers.finish(this.#statusOf(code)).finally(() => this.dispose());
  };

  readonly #onExit = (code: number): void => {
    this.#handlers.finishNow(this.#statusOf(code));
  };

  #statusOf(exitCode: number): RunStatus {
    if (this.#wasInterrupted) return 'aborted';
    return exitCode === 0 ? 'completed' : 'failed';
  }
}
