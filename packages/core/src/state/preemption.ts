import { tensor1d, tidy } from '@tensorflow/tfjs-core';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SAVED_EXIT_CODE, valuesOf, type Collective } from '@acc/contract';

/**
 * Cluster managers send SIGTERM before they kill a process. Slurm sends the signal that `--signal`
 * names.
 */
const SIGNALS = ['SIGTERM', 'SIGUSR1'] as const;
/**
 * The longest time in milliseconds without a turn of the event loop. Signals are delivered only in
 * such turns, and a loop over data in memory has none by itself.
 */
const TURN_MS = 50;
/** The target time in milliseconds between two exchanges among the ranks. */
const CHECK_MS = 200;
const MAX_BOUNDARIES = 10_000;

export interface PreemptionContext {
  readonly collective: Collective;
  /** Whether the ranks may be at different batches. */
  readonly isJoining: () => boolean;
  /** A number that grows with training. */
  readonly activity: () => number;
  /** Saves on every rank and returns the location. */
  readonly save: () => Promise<string | undefined>;
  /** Finishes trackers before the process exits. */
  readonly beforeExit: () => Promise<void>;
}

/**
 * Handles signals that ask for the end of the process. If one rank receives one, all ranks save
 * after the current step and exit.
 */
export class Preemption {
  readonly #context: PreemptionContext;
  #asked: NodeJS.Signals | undefined;
  #lastTurn = performance.now();
  #lastActivity = 0;
  #lastCheck = performance.now();
  /**
   * The number of boundaries between two exchanges among the ranks, and the number until the next.
   * The same on every rank.
   */
  #interval = 1;
  #left = 1;

  readonly #listener = (signal: NodeJS.Signals): void => {
    if (this.#asked) return;
    this.#asked = signal;
    console.error(
      `acc: received ${signal}. The process saves a checkpoint after this step and then exits. SIGINT or SIGKILL ends it at once.`,
    );
  };

  constructor(context: PreemptionContext) {
    this.#context = context;
    for (const signal of SIGNALS) process.on(signal, this.#listener);
  }

  /** Must be awaited at a point where all batches given out so far have been trained on. */
  async atBoundary(): Promise<void> {
    const { activity, isJoining } = this.#context;
    if (performance.now() - this.#lastTurn > TURN_MS) {
      await nextTurn();
      this.#lastTurn = performance.now();
    }
    // Does not save in an evaluation loop, because such a loop cannot be resumed.
    const isTraining = activity() !== this.#lastActivity;
    this.#lastActivity = activity();
    if (!isTraining || isJoining() || !this.#isAnyAsked()) return;
    await this.#end();
  }

  dispose(): void {
    for (const signal of SIGNALS) process.off(signal, this.#listener);
  }

  #isAnyAsked(): boolean {
    const { collective } = this.#context;
    const local = this.#asked !== undefined;
    if (collective.size === 1) return local;
    if (--this.#left > 0) return false;
    const ms = (performance.now() - this.#lastCheck) / this.#interval;
    const all = tidy(() =>
      collective.allReduceAsync(tensor1d([local ? 1 : 0, ms]), 'max', { agreed: true }).wait(),
    );
    const [asked, slowestMs] = valuesOf(all) as unknown as [number, number];
    this.#lastCheck = performance.now();
    this.#interval = Math.min(Math.max(Math.round(CHECK_MS / slowestMs), 1), MAX_BOUNDARIES);
    this.#left = this.#interval;
    return asked > 0;
  }

  async #end(): Promise<never> {
    const { collective, save, beforeExit } = this.#context;
    const path = await save();
    if (collective.rank === 0) {
      const where =
        path === undefined ? 'the checkpoint could not be saved' : `the checkpoint was saved to ${path}`;
      console.error(`acc: ${where}. To continue, call loadState('latest'). Exit code ${SAVED_EXIT_CODE}.`);
    }
    await beforeExit();
    // The connections of the other ranks lead to rank 0, so it must not exit first.
    collective.barrier();
    process.exit(SAVED_EXIT_CODE);
  }
}
