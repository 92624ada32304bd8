import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RunStatus } from '@acc/contract';
import {
  asDeferring,
  endBySignal,
  endOfPress,
  exitSurely,
  isHandled,
  listenFirst,
} from '@acc/platform/ending';
import { asOwn, hasOtherListeners, reportUncaught, tellUncaught } from '@acc/platform/uncaught';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** A loop that blocks the event loop for this long would not handle a signal in time. */
const DEAF_MS = 1_500;
const TURN_MS = 500;

export interface EndingHandlers {
  /** Finishes the runs within the time that is left. */
  readonly finish: (status: RunStatus) => Promise<void>;
  /** Finishes the runs without waiting. The process ends when it returns. */
  readonly finishNow: (status: RunStatus) => void;
}

/** All that wait for the end of this process; a program may have several Accelerators. */
const waiting = new Set<ProcessEnding>();

/**
 * Detects every way in which a process can end while a run is not finished: a signal, an uncaught
 * error, `process.exit`, or no work left. After the run is finished, signals and errors have their
 * usual effect.
 */
export class ProcessEnding {
  readonly #handlers: EndingHandlers;
  readonly #turns: NodeJS.Timeout;
  #turnedAtMs = performance.now();
  #isListening = false;
  #isSignalled = false;
  #takesSecondPress = false;
  #isEnding = false;
  #wasInterrupted = false;
  /** The error that ends the process, until it is told. */
  #untold: { readonly error: unknown } | undefined;

  constructor(handlers: EndingHandlers) {
    this.#handlers = handlers;
    waiting.add(this);
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
   * Called in each step. While a loop blocks the event loop, the handlers are removed, so a signal
   * ends the process at once. The next `initTrackers` then finishes the run. Otherwise Ctrl-C would
   * not end the program.
   *
   * @returns Whether the event loop has been blocked for long.
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
    waiting.delete(this);
  }

  /** Whether runs are being finished because of a signal or an error. */
  static get #areEnding(): boolean {
    return [...waiting].some((one) => one.#isEnding);
  }

  #listen(): void {
    if (this.#isListening || this.#isEnding) return;
    this.#isListening = true;
    for (const signal of SIGNALS) listenFirst(signal, this.#onSignal);
  }

  #unlisten(): void {
    this.#isListening = false;
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
  }

  readonly #onSignal = asDeferring((signal): void => {
    this.#wasInterrupted = true;
    // The program's own listener handles the signal and ends the process.
    if (isHandled(signal)) return;
    if (this.#isSignalled) {
      if (this.#takesSecondPress) this.#leave(signal);
      return;
    }
    this.#isSignalled = true;
    void endOfPress().then(() => (this.#takesSecondPress = true));
    // An error is already ending the process.
    if (this.#isEnding) return;
    this.#isEnding = true;
    void this.#handlers.finish('aborted').finally(() => {
      this.dispose();
      if (!ProcessEnding.#areEnding) this.#leave(signal);
    });
  });

  /** Restores the default handling of the signal and sends it again. */
  #leave(signal: NodeJS.Signals): void {
    for (const one of waiting) one.#tell();
    for (const one of waiting) one.dispose();
    endBySignal(signal);
  }

  readonly #onError = asOwn((error: unknown): void => {
    // The program's own listener handles errors, and the program may continue.
    if (hasOtherListeners() || this.#isEnding) return;
    const isFirst = !ProcessEnding.#areEnding;
    this.#isEnding = true;
    void this.#endBy(error, isFirst).finally(() => {
      this.#tell();
      this.dispose();
      if (!ProcessEnding.#areEnding) exitSurely(Number(process.exitCode) || 1, () => undefined);
    });
  });

  async #endBy(error: unknown, isFirst: boolean): Promise<void> {
    // A signal that came while the event loop was blocked is handled in the next turn but one. Then the
    // error is that other ranks have ended by it.
    await nextTurn();
    await nextTurn();
    // Below the messages of the trackers, it is the last text on the screen.
    try {
      if (isFirst && !this.#wasInterrupted && !reportUncaught(error)) this.#untold = { error };
    } catch {
      // The runs must be finished even if the report fails.
      this.#untold = { error };
    }
    await this.#handlers.finish(this.#wasInterrupted ? 'aborted' : 'failed');
  }

  #tell(): void {
    if (this.#untold) tellUncaught(this.#untold.error);
    this.#untold = undefined;
  }

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
