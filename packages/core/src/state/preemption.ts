import { tensor1d, tidy } from '@tensorflow/tfjs-core';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SAVED_EXIT_CODE, type Collective } from '@acc/contract';

/** Cluster managers send SIGTERM before they kill; Slurm sends what `--signal` names. */
const SIGNALS = ['SIGTERM', 'SIGUSR1'] as const;
/** Loops over data in memory never wait, and signals are heard in turns of the event loop only. */
const TURN_MS = 50;
/** How often ranks ask each other. */
const CHECK_MS = 200;
const MAX_BOUNDARIES = 10_000;

export interface PreemptionParts {
  readonly collective: Collective;
  /** Whether ranks may be at different places. */
  readonly isJoining: () => boolean;
  /** Grows with training. */
  readonly activity: () => number;
  /** Saves on every rank and says where. */
  readonly save: () => Promise<string | undefined>;
  /** Gives others what is left for them. */
  readonly beforeExit: () => Promise<void>;
}

/** Saves after the step that runs, on all ranks, when one of them is asked to end, and ends the process. */
export class Preemption {
  readonly #parts: PreemptionParts;
  #asked: NodeJS.Signals | undefined;
  #lastTurn = performance.now();
  #lastActivity = 0;
  #lastCheck = performance.now();
  /** Between two questions to the other ranks, and until the next; the same on every rank. */
  #interval = 1;
  #left = 1;

  readonly #listener = (signal: NodeJS.Signals): void => {
    if (this.#asked) return;
    this.#asked = signal;
    console.error(`acc: ${signal}: saves after this step, and exits. SIGINT or SIGKILL end it at once.`);
  };

  constructor(parts: PreemptionParts) {
    this.#parts = parts;
    for (const signal of SIGNALS) process.on(signal, this.#listener);
  }

  /** To be awaited where what has been trained on so far is all that was given out. */
  async atBoundary(): Promise<void> {
    const { activity, isJoining } = this.#parts;
    if (performance.now() - this.#lastTurn > TURN_MS) {
      await nextTurn();
      this.#lastTurn = performance.now();
    }
    // A loop that only evaluates could not be found again.
    const isTraining = activity() !== this.#lastActivity;
    this.#lastActivity = activity();
    if (!isTraining || isJoining() || !this.#isAnyAsked()) return;
    await this.#end();
  }

  dispose(): void {
    for (const signal of SIGNALS) process.off(signal, this.#listener);
  }

  #isAnyAsked(): boolean {
    const { collective } = this.#parts;
    const own = this.#asked !== undefined;
    if (collective.size === 1) return own;
    if (--this.#left > 0) return false;
    const ms = (performance.now() - this.#lastCheck) / this.#interval;
    const [asked, slowestMs] = tidy(() =>
      collective
        .allReduceAsync(tensor1d([own ? 1 : 0, ms]), 'max', { agreed: true })
        .wait()
        .dataSync(),
    ) as unknown as [number, number];
    this.#lastCheck = performance.now();
    this.#interval = Math.min(Math.max(Math.round(CHECK_MS / slowestMs), 1), MAX_BOUNDARIES);
    this.#left = this.#interval;
    return asked > 0;
  }

  async #end(): Promise<never> {
    const { collective, save, beforeExit } = this.#parts;
    const path = await save();
    if (collective.rank === 0) {
      const where = path === undefined ? 'nothing could be saved' : `saved to ${path}`;
      console.error(`acc: ${where}; loadState('latest') goes on. Exit code ${SAVED_EXIT_CODE}.`);
    }
    await beforeExit();
    // Rank 0 holds what the others are connected to.
    collective.barrier();
    process.exit(SAVED_EXIT_CODE);
  }
}
