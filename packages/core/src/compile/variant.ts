import type { Tensor } from '@tensorflow/tfjs-core';
import type { Recorder, Recording } from '@acc/contract';
import { engineInternals } from '@acc/tfjs-internals';
import { partsOf, withTensors } from './nested-values.js';

/** Two recordings in a row must be the same; so many are made at most. */
const MAX_RECORDINGS = 4;
/** How often recordings are given up because what they had taken from outside is gone. */
const MAX_RENEWALS = 4;
/** How often a replay may fail where the step itself does not. */
const MAX_FAILURES = 4;

/** What a variant works with. */
export interface VariantContext {
  readonly recorder: Recorder;
  /** Told once, when the variant will not be replayed. */
  readonly onRefused: (reason: string) => void;
}

/** A step for arguments of one kind. Its first call runs plainly, the next ones are recorded, later ones are replays. */
export class Variant<R> {
  #calls = 0;
  #recordings = 0;
  #renewals = 0;
  #last: Recorded<R> | undefined;
  #isSealed = false;
  #difference: string | undefined;
  #refusal: string | undefined;
  #isRunning = false;

  /** How many calls were replays. */
  replays = 0;
  /** How many replays failed, before anything had happened outside, in calls that then ran plainly. */
  failedReplays = 0;

  constructor(private readonly context: VariantContext) {}

  /** Why it runs plainly for good. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** Runs `step`, or what it was recorded as. To be called in a tidy. */
  call(args: readonly Tensor[], step: () => R): R {
    // The first call makes what later ones find: state of optimizers, the choice of kernels.
    if (this.#calls++ === 0 || this.#refusal !== undefined || this.#isRunning) return step();
    this.#isRunning = true;
    try {
      if (!this.#isSealed) return this.#record(args, step);
      if (!this.#last!.recording.fits(args)) return this.#renew(step);
      const results = this.#last!.recording.replay(args);
      if (results instanceof Error) return this.#runPlainly(results, step);
      this.replays++;
      return this.#last!.resultOf(args, results);
    } finally {
      this.#isRunning = false;
    }
  }

  dispose(): void {
    this.#last?.recording.dispose();
    this.#last = undefined;
    this.#isSealed = false;
  }

  /** After a replay that failed. What the step itself throws is the caller's, and no fault of the recording. */
  #runPlainly(error: Error, step: () => R): R {
    const result = step();
    this.failedReplays++;
    if (this.failedReplays >= MAX_FAILURES) {
      this.#refuse(`its replay failed ${MAX_FAILURES} times where the step itself did not: ${error.message}`);
    }
    return result;
  }

  /** Begins anew: something is gone that was no argument. */
  #renew(step: () => R): R {
    this.dispose();
    this.#recordings = 0;
    if (++this.#renewals > MAX_RENEWALS) {
      this.#refuse('it takes tensors from outside that change, and are neither arguments nor variables');
    }
    return step();
  }

  #record(args: readonly Tensor[], step: () => R): R {
    const { recorder } = this.context;
    const before = engineInternals().state.numTensors;
    let result!: R;
    let parts!: ReturnType<typeof partsOf>;
    const { results, recording } = recorder.record(args, () => {
      result = engineInternals().tidy('compiled step', step);
      parts = partsOf(result);
      return parts.tensors;
    });
    if (typeof recording === 'string') {
      this.#failed(recording);
      return result;
    }
    const made = results.filter((tensor) => !args.includes(tensor) && !isVariable(tensor));
    const kept = engineInternals().state.numTensors - before - made.length;
    const problem =
      parts.foreign !== undefined
        ? `it returns a ${parts.foreign}`
        : kept !== 0
          ? 'it keeps tensors of its own, or frees those of others'
          : undefined;
    if (problem !== undefined) {
      recording.dispose();
      this.#failed(problem);
    } else {
      this.#take({ recording, key: parts.key, resultOf: resultBuilder(result, args, results) });
    }
    return result;
  }

  /** Compares with the recording before. */
  #take(recorded: Recorded<R>): void {
    this.#recordings++;
    const last = this.#last;
    this.#last = recorded;
    if (!last) return;
    this.#difference =
      last.recording.differenceFrom(recorded.recording) ??
      (last.key === recorded.key ? undefined : 'it returns other values from run to run');
    last.recording.dispose();
    if (this.#difference === undefined) {
      recorded.recording.seal();
      this.#isSealed = true;
    } else if (this.#recordings >= MAX_RECORDINGS) {
      this.#refuse(this.#difference);
    }
  }

  #failed(reason: string): void {
    this.dispose();
    this.#refuse(reason);
  }

  #refuse(reason: string): void {
    this.dispose();
    this.#refusal = reason;
    this.context.onRefused(reason);
  }
}

interface Recorded<R> {
  readonly recording: Recording;
  /** Of the step's result. */
  readonly key: string;
  /** The result of a replay that has given `results`. */
  resultOf(args: readonly Tensor[], results: readonly Tensor[]): R;
}

/** How results of later replays are put together: arguments and variables that were returned are so again. */
function resultBuilder<R>(
  result: R,
  args: readonly Tensor[],
  results: readonly Tensor[],
): Recorded<R>['resultOf'] {
  const places = new Map(results.map((tensor, i) => [tensor, i]));
  const indices = new Map(args.map((arg, i) => [arg, i]));
  return (newArgs, newResults) =>
    withTensors(result, (tensor) => {
      if (isVariable(tensor)) return tensor;
      const index = indices.get(tensor);
      return index === undefined ? newResults[places.get(tensor)!]! : newArgs[index]!;
    });
}

function isVariable(tensor: Tensor): boolean {
  return 'assign' in tensor;
}
