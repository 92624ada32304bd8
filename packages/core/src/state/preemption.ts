import { tensor1d, tidy } from '@tensorflow/tfjs-core';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SAVED_EXIT_CODE, valuesOf, type Collective } from '@acc/contract';

/**
 * Cluster managers send SIGTERM before they kill a process. Slurm sends the signal that `--signal`
 * names.
 */
const SIGNALS = ['SIGTERM', 'SIGUSR1'] as const;
/** Ctrl-C. A program that does not reach its next boundary is ended by a second one. */
const INTERRUPT = 'SIGINT';
/**
 * A terminal and a launcher may both send the signal of one Ctrl-C. A second one within this time, in
 * milliseconds, counts as the same.
 */
const SAME_PRESS_MS = 300;
/** A loop that blocks the event loop for this long, in milliseconds, would not handle Ctrl-C in time. */
const DEAF_MS = 1_500;
const INTERRUPTED_EXIT_CODE = 130;
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
 * Handles signals that ask for the end of the process, and Ctrl-C. If one rank receives one, all ranks save
 * after the current step and exit.
 */
export class Preemption {
  readonly #context: PreemptionContext;
  #asked: { readonly at: number } | undefined;
  #isHearingInterrupts = false;
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
    const now = performance.now();
    if (this.#asked) {
      const isAgain = signal === INTERRUPT && now - this.#asked.at > SAME_PRESS_MS;
      if (isAgain) process.exit(INTERRUPTED_EXIT_CODE);
      return;
    }
    this.#asked = { at: now };
    this.#hearInterrupts();
    const [who, ends] = signal === INTERRUPT ? ['Ctrl-C', 'A second Ctrl-C'] : [signal, 'Ctrl-C'];
    console.error(
      `acc: received ${who}. The process saves a checkpoint after this step and then exits. ${ends} ends it at once.`,
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
    if (isTraining) this.#hearInterrupts();
    if (!isTraining || isJoining() || !this.#isAnyAsked()) return;
    await this.#end();
  }

  /**
   * Called in each step. While a loop blocks the event loop, Ctrl-C ends the process at once, as it
   * does before the first boundary.
   */
  beat(): void {
    if (this.#isHearingInterrupts && performance.now() - this.#lastTurn > DEAF_MS) this.#ignoreInterrupts();
  }

  dispose(): void {
    for (const signal of SIGNALS) process.off(signal, this.#listener);
    this.#ignoreInterrupts();
  }

  #hearInterrupts(): void {
    if (this.#isHearingInterrupts) return;
    this.#isHearingInterrupts = true;
    process.on(INTERRUPT, this.#listener);
  }

  #ignoreInterrupts(): void {
    this.#isHearingInterrupts = false;
    process.off(INTERRUPT, this.#listener);
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
      console.error(
        `acc: ${where}. To continue, run the same command again: its program resumes with loadState('latest', { ifPresent: true }). Exit code ${SAVED_EXIT_CODE}.`,
      );
    }
    await beforeExit();
    // The connections of the other ranks lead to rank 0, so it must not exit first.
    collective.barrier();
    process.exit(SAVED_EXIT_CODE);
  }
}
