import type { Tensor } from '@tensorflow/tfjs-core';
import type { Fusion, Recorder, Recording } from '@acc/contract';
import { engineInternals } from '@acc/tfjs-internals';
import { flatten, withTensors } from './nested-values.js';

/** The largest number of recordings before two consecutive ones must be equal. */
const MAX_RECORDINGS = 4;
/**
 * The largest number of times that recordings are discarded because an outer tensor that they used
 * was disposed.
 */
const MAX_RENEWALS = 4;
/** The largest number of times that a replay may fail if the step itself does not. */
const MAX_FAILURES = 4;

/** The environment of a variant. */
export interface VariantContext {
  readonly recorder: Recorder;
  readonly fuse: Fusion;
  /** Called once if the variant will not be replayed. */
  readonly onRefused: (reason: string) => void;
}

/**
 * A step for one kind of arguments. The first call runs normally, the next ones are recorded, later
 * ones are replayed.
 */
export class Variant<R> {
  #calls = 0;
  #recordings = 0;
  #renewals = 0;
  #last: Recorded<R> | undefined;
  #isSealed = false;
  #difference: string | undefined;
  #refusal: string | undefined;
  #isRunning = false;

  /** The number of calls that were replays. */
  replays = 0;
  /** The number of replays that failed without outside effects. These calls then ran normally. */
  failedReplays = 0;

  constructor(private readonly context: VariantContext) {}

  /** What its replays fuse. Undefined before they begin. */
  get explanation(): string | undefined {
    return this.#isSealed ? this.#last?.recording.explanation : undefined;
  }

  /** The reason why the variant permanently runs without replay. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** Runs `step`, or replays its recording. Call it in a tidy. */
  call(args: readonly Tensor[], step: () => R): R {
    // The first call creates state that later calls reuse, such as that of optimizers and the
    // choice of kernels.
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

  /** Records again, because an outer tensor was disposed that was not an argument. */
  #renew(step: () => R): R {
    this.dispose();
    this.#recordings = 0;
    if (++this.#renewals > MAX_RENEWALS) {
      this.#refuse('it uses changing tensors that are neither arguments nor variables');
    }
    return step();
  }

  #record(args: readonly Tensor[], step: () => R): R {
    const { recorder } = this.context;
    const before = engineInternals().state.numTensors;
    let result!: R;
    let flattened!: ReturnType<typeof flatten>;
    const traced = () => {
      result = engineInternals().tidy('compiled step', step);
      flattened = flatten(result);
      return flattened.tensors;
    };
    // The first recording is only compared with the second one.
    const { results, recording } = recorder.record(args, traced, this.#last !== undefined);
    if (typeof recording === 'string') {
      this.#failed(recording);
      return result;
    }
    const made = results.filter((tensor) => !args.includes(tensor) && !isVariable(tensor));
    const kept = engineInternals().state.numTensors - before - made.length;
    const problem =
      flattened.foreign !== undefined
        ? `it returns a ${flattened.foreign}`
        : kept !== 0
          ? 'it keeps tensors that it creates, or disposes tensors that it did not create'
          : undefined;
    if (problem !== undefined) {
      recording.dispose();
      this.#failed(problem);
    } else {
      this.#take({ recording, key: flattened.key, resultOf: resultBuilder(result, args, results) });
    }
    return result;
  }

  /** Compares a recording with the previous one. */
  #take(recorded: Recorded<R>): void {
    this.#recordings++;
    const last = this.#last;
    this.#last = recorded;
    if (!last) return;
    this.#difference =
      last.recording.differenceFrom(recorded.recording) ??
      (last.key === recorded.key ? undefined : 'it returns different plain values in different runs');
    last.recording.dispose();
    if (this.#difference === undefined) {
      recorded.recording.seal(this.context.fuse);
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
  /** The key of the step's result. */
  readonly key: string;
  /** The result of a replay that returned `results`. */
  resultOf(args: readonly Tensor[], results: readonly Tensor[]): R;
}

/**
 * Builds the results of later replays. Arguments and variables that the step returned are returned
 * again as the same objects.
 */
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
