import { tensor1d, tidy } from '@tensorflow/tfjs-core';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SAVED_EXIT_CODE, valuesOf, type Collective } from '@acc/contract';
import { endOfPress, exitSurely } from '@acc/platform/ending';

/**
 * Cluster managers send SIGTERM before they kill a process. Slurm sends the signal that `--signal`
 * names.
 */
const SIGNALS = ['SIGTERM', 'SIGUSR1'] as const;
/** Ctrl-C. A program that does not reach its next boundary is ended by a second one. */
const INTERRUPT = 'SIGINT';
/**
 * A loop that blocks the event loop for this long, in milliseconds, and for more than this number of steps
 * without a boundary, would not handle Ctrl-C in time.
 */
const DEAF_MS = 1_500;
const DEAF_STEPS = 10;
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
  #isAsked = false;
  #takesSecondPress = false;
  #isHearingInterrupts = false;
  #lastTurn = performance.now();
  #lastActivity = 0;
  #hasTrained = false;
  /** The number of boundaries since the last training. */
  #quietBoundaries = 0;
  /** The number of steps since the last boundary. */
  #steps = 0;
  #lastCheck = performance.now();
  /**
   * The number of boundaries between two exchanges among the ranks, and the number until the next.
   * The same on every rank.
   */
  #interval = 1;
  #left = 1;

  readonly #listener = (signal: NodeJS.Signals): void => {
    if (this.#isAsked) {
      if (signal === INTERRUPT && this.#takesSecondPress) exitSurely(INTERRUPTED_EXIT_CODE);
      return;
    }
    this.#isAsked = true;
    void endOfPress().then(() => (this.#takesSecondPress = true));
    this.#hearInterrupts();
    const [who, ends] = signal === INTERRUPT ? ['Ctrl-C', 'A second Ctrl-C'] : [signal, 'Ctrl-C'];
    console.error(
      `acc: received ${who}. The process saves a checkpoint when a training step ends, and then exits. ${ends} ends it at once.`,
    );
  };

  constructor(context: PreemptionContext) {
    this.#context = context;
    for (const signal of SIGNALS) process.on(signal, this.#listener);
  }

  /**
   * Must be awaited at a point where all batches given out so far have been trained on.
   *
   * @param isEnd Whether the data ends here. What follows may be no training.
   */
  async atBoundary(isEnd = false): Promise<void> {
    const { activity, isJoining } = this.#context;
    // Does not save in an evaluation loop, because such a loop cannot be resumed.
    const isTraining = activity() !== this.#lastActivity;
    this.#lastActivity = activity();
    this.#hasTrained ||= isTraining;
    this.#quietBoundaries = isTraining ? 0 : this.#quietBoundaries + 1;
    this.#steps = 0;
    // The first boundary of an epoch is quiet, too.
    const isResting = isEnd || this.#quietBoundaries > 1;
    await this.#turn(isResting);
    if (this.#hasTrained && !isResting) this.#hearInterrupts();
    if (isTraining && !isJoining() && this.#isAnyAsked()) await this.#end();
    if (isResting) this.#ignoreInterrupts();
  }

  /**
   * Called in each step. If many steps block the event loop and no boundary comes, Ctrl-C ends the process
   * at once, as it does before the first boundary. A Ctrl-C that came before that is lost.
   */
  beat(): void {
    const isDeaf = ++this.#steps > DEAF_STEPS && performance.now() - this.#lastTurn > DEAF_MS;
    if (isDeaf) this.#ignoreInterrupts();
  }

  dispose(): void {
    for (const signal of SIGNALS) process.off(signal, this.#listener);
    this.#ignoreInterrupts();
  }

  /** Node.js drops a signal that it has caught but not delivered when the last listener is removed. */
  async #turn(isResting: boolean): Promise<void> {
    const isDue = performance.now() - this.#lastTurn > TURN_MS;
    if (!isDue && !(isResting && this.#isHearingInterrupts)) return;
    // A signal that has already come may be delivered only in the next turn but one.
    await nextTurn();
    await nextTurn();
    this.#lastTurn = performance.now();
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
    const local = this.#isAsked;
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
      const outcome =
        path === undefined
          ? 'the checkpoint could not be saved.'
          : `the checkpoint was saved to ${path}. To continue, run the same command again: the program resumes there if it calls loadState('latest', { ifPresent: true }).`;
      console.error(`acc: ${outcome} Exit code ${SAVED_EXIT_CODE}.`);
    }
    await beforeExit();
    // The connections of the other ranks lead to rank 0, so it must not exit first.
    collective.barrier();
    exitSurely(SAVED_EXIT_CODE);
  }
}
