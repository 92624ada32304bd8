import type { Tensor } from '@tensorflow/tfjs-core';
import type { Recorder } from '@acc/contract';
import type { Family, Share } from './family.js';
import { recordStep, type RecordedStep } from './recorded-step.js';

/** The largest number of recordings before two consecutive ones must be equal. */
const MAX_RECORDINGS = 4;
/**
 * The largest number of times in a row that recordings are discarded after a few replays, because an
 * outer tensor that they used was disposed, or a variable was frozen or thawed.
 */
const MAX_RENEWALS = 4;
/** A recording that was replayed more often was worth its time. */
const FEW_REPLAYS = 16;
/** The largest number of calls that cannot be recorded for a reason that may pass. */
const MAX_PASSING = 16;
/** The largest number of times that a replay may fail if the step itself does not. */
const MAX_FAILURES = 4;

/** The largest number of recordings of one step. */
export const MAX_VARIANTS = 8;
/** The reason for which no more recordings are made. */
export const TOO_MANY = `its arguments had more than ${MAX_VARIANTS} combinations of shapes, dtypes and plain values that need a recording each`;

/** One call of a step. */
export interface StepCall<R> {
  /** The tensors of the arguments. */
  readonly args: readonly Tensor[];
  readonly run: () => R;
  /** See `FoundVariant`. */
  readonly watchArguments: () => () => string | undefined;
}

/** The environment of a variant. */
export interface VariantContext {
  readonly recorder: Recorder;
  /** The recordings for other sizes. */
  readonly family: Family;
  /** The sizes of the arguments. */
  readonly sizes: readonly number[];
  /** Called once if the variant will not be replayed. */
  readonly onRefused: (reason: string) => void;
}

/** The state of a variant. It decides how its next call runs. */
type State<R> =
  /** Nothing is recorded, or recordings were discarded. */
  | { readonly kind: 'unrecorded' }
  /** One recording waits for a second one that is the same. */
  | { readonly kind: 'recorded'; readonly last: RecordedStep<R> }
  /** The recording shares the calls of other sizes. A second one has to confirm its numbers. */
  | { readonly kind: 'shared'; readonly last: RecordedStep<R>; readonly share: Share }
  /** Calls are replays. */
  | { readonly kind: 'sealed'; readonly last: RecordedStep<R>; readonly share: Share }
  /** Calls run normally from now on. `reason` is text for people. */
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * A step for one kind of arguments. The first call of a step runs normally, the next ones are
 * recorded, later ones are replayed. Two recordings must be the same. If the second one has other
 * sizes, only numbers that follow from the sizes may differ.
 */
export class Variant<R> {
  #calls = 0;
  #recordings = 0;
  #passing = 0;
  #renewals = 0;
  #replaysAtRenewal = 0;
  #state: State<R> = { kind: 'unrecorded' };

  /** The number of calls that were replays. */
  replays = 0;
  /** The number of replays that failed without outside effects. These calls then ran normally. */
  failedReplays = 0;

  constructor(private readonly context: VariantContext) {}

  /** Why it is not replayed, as text for people. Undefined if it is. */
  get unreplayed(): string | undefined {
    const state = this.#state;
    if (state.kind === 'sealed' || this.#calls === 0) return undefined;
    const { family, sizes } = this.context;
    const calls = `${family.describe(sizes)}: ${this.#calls} ${this.#calls === 1 ? 'call' : 'calls'}`;
    return state.kind === 'refused'
      ? `${calls}, ${this.replays === 0 ? 'none' : this.replays} replayed: ${state.reason}.`
      : `${calls}. The first one runs as usual, then calls are recorded until two are equal.`;
  }

  /** Runs the step, or replays its recording. Call it in a tidy. */
  call(call: StepCall<R>): R {
    const { family } = this.context;
    const isFirst = this.#calls++ === 0;
    if (this.#state.kind === 'refused' || family.isRunning) return call.run();
    return family.run(() => {
      // The first call of all creates state that later calls reuse, such as that of optimizers.
      if (!family.hasRun) return call.run();
      const state = this.#state;
      return state.kind === 'sealed' ? this.#replay(state, call) : this.#record(call, isFirst);
    });
  }

  dispose(): void {
    const state = this.#state;
    if (state.kind === 'unrecorded' || state.kind === 'refused') return;
    const { family, sizes } = this.context;
    if (state.kind !== 'recorded') family.leave(state.share, sizes);
    family.withdraw(state.last);
    state.last.recording.dispose();
    this.#state = { kind: 'unrecorded' };
  }

  #replay({ last, share }: Extract<State<R>, { kind: 'sealed' }>, { args, run: step }: StepCall<R>): R {
    const { recording, resultOf } = last;
    if (!recording.fits(args)) return this.#renew(step);
    const results = recording.replay(args);
    if (results instanceof Error) return this.#runPlainly(results, step);
    this.replays++;
    this.context.family.replayed(share, this.context.sizes);
    return resultOf(args, results);
  }

  /**
   * Runs the step after a failed replay. An error of the step itself goes to the caller, and does
   * not count as a failure of the recording.
   */
  #runPlainly(error: Error, step: () => R): R {
    const result = step();
    this.failedReplays++;
    if (this.failedReplays >= MAX_FAILURES) {
      this.#refuse(`its replay failed ${MAX_FAILURES} times, but the step itself did not: ${error.message}`);
    }
    return result;
  }

  /** Records again, because a tensor of the recording is not what it was. */
  #renew(step: () => R): R {
    this.dispose();
    this.#recordings = 0;
    if (this.replays - this.#replaysAtRenewal > FEW_REPLAYS) this.#renewals = 0;
    this.#replaysAtRenewal = this.replays;
    if (++this.#renewals > MAX_RENEWALS) {
      this.#refuse(
        'it uses changing tensors that are neither arguments nor variables, or variables that are frozen and thawed all the time',
      );
    }
    return step();
  }

  #record({ args, run, watchArguments }: StepCall<R>, isFirst: boolean): R {
    const { family, recorder } = this.context;
    // A recording that is the second one of its calls may be kept whole, and is then explained.
    const { kind } = this.#state;
    const isExplained = kind === 'recorded' || (kind === 'unrecorded' && family.hasCandidates);
    const changedArgument = watchArguments();
    const { result, recorded, mayPass } = recordStep(recorder, args, run, isExplained);
    if (typeof recorded === 'string') {
      // The first call may do what later ones do not, such as to measure kernels.
      const isTriedAgain = isFirst || (mayPass && ++this.#passing < MAX_PASSING);
      if (!isTriedAgain) this.#refuse(recorded);
      return result;
    }
    const changed = changedArgument();
    if (changed !== undefined) {
      recorded.recording.dispose();
      this.#refuse(`it changes the arrays or records of its arguments (${changed})`);
      return result;
    }
    this.#recordings++;
    const difference = this.#take(recorded);
    if (difference !== undefined && this.#recordings >= MAX_RECORDINGS) this.#refuse(difference);
    return result;
  }

  /** Compares a recording with others. Returns the difference from the previous one, as text. */
  #take(recorded: RecordedStep<R>): string | undefined {
    const state = this.#state;
    const { family, sizes } = this.context;
    if (state.kind === 'shared') return this.#compareNumbers(recorded, state);
    if (state.kind !== 'recorded') {
      const share = family.share(recorded, sizes);
      if (share) this.#join(recorded, share);
      else this.#propose(recorded);
      return undefined;
    }
    const { last } = state;
    family.withdraw(last);
    const difference =
      last.recording.differenceFrom(recorded.recording) ?? differenceOfResults(last, recorded);
    last.recording.dispose();
    if (difference !== undefined) {
      this.#propose(recorded);
      return difference;
    }
    const share = family.share(recorded, sizes) ?? family.add(recorded, sizes);
    this.#state = share ? { kind: 'sealed', last: recorded, share } : { kind: 'recorded', last: recorded };
    if (!share) this.#refuse(TOO_MANY);
    return undefined;
  }

  /** Lets a recording that shares the calls of other sizes wait for a second one, or replays it. */
  #join(last: RecordedStep<R>, share: Share): void {
    this.#state = { kind: share.isExplained ? 'sealed' : 'shared', last, share };
  }

  /** Lets a recording wait for a second one. */
  #propose(recorded: RecordedStep<R>): void {
    this.#state = { kind: 'recorded', last: recorded };
    const isWaiting = this.context.family.propose({
      recorded,
      sizes: this.context.sizes,
      onShared: (share) => this.#join(recorded, share),
      onDropped: () => this.dispose(),
    });
    if (!isWaiting) this.#refuse(TOO_MANY);
  }

  /** Compares a recording with the previous one, if that shares the calls of other sizes. */
  #compareNumbers(
    recorded: RecordedStep<R>,
    { last, share: lastShare }: Extract<State<R>, { kind: 'shared' }>,
  ): string | undefined {
    const { family, sizes } = this.context;
    const share = family.share(recorded, sizes);
    // It leaves after the new one has joined, so that the shared recording stays.
    last.recording.dispose();
    if (share?.recording !== lastShare.recording) family.leave(lastShare, sizes);
    if (!share) {
      recorded.recording.dispose();
      this.#state = { kind: 'unrecorded' };
      return 'it makes other calls in different runs';
    }
    this.#state = { kind: 'shared', last: recorded, share };
    if (share.recording !== lastShare.recording || !areSame(share.numbers, lastShare.numbers)) {
      return 'numbers that it computes change from run to run';
    }
    const difference = differenceOfResults(last, recorded);
    if (difference === undefined) this.#state = { kind: 'sealed', last: recorded, share };
    return difference;
  }

  #refuse(reason: string): void {
    if (this.#state.kind === 'refused') return;
    this.dispose();
    this.#state = { kind: 'refused', reason };
    this.context.family.refused();
    this.context.onRefused(reason);
  }
}

function differenceOfResults(a: RecordedStep<unknown>, b: RecordedStep<unknown>): string | undefined {
  return a.result.key === b.result.key ? undefined : 'it returns different plain values in different runs';
}

function areSame(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  return a.length === b.length && Array.from(a).every((number, i) => Object.is(number, b[i]));
}
