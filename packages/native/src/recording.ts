import type { NativeDtype, NativeTensor } from '@acc/contract';
import { addon } from './addon.js';
import { replayHandles } from './call-buffer.js';
import { dtypeOf } from './dtype.js';
import { guarded } from './errors.js';
import { idsOf } from './ids.js';
import { Tensor } from './tensor.js';

// The addon records a step while it runs: every operator call after `startRecording`, except those
// between `cutRecording` and `resumeRecording`. Handles that no recorded call returned come from
// outside. Each replay passes the tensors for them anew.

/**
 * Begins a recording. A process can only have one at a time.
 *
 * @param onRefused Called at the first reason for which the step cannot be replayed, at the place of
 * the program that is the reason. It must not throw.
 */
export function startRecording(onRefused?: () => void): void {
  addon().startRecording(onRefused);
}

/**
 * Marks the current step as not replayable, with the reason. The first reason is kept. Does nothing
 * if nothing is recorded.
 */
export function refuseRecording(reason: string): void {
  addon().refuseRecording(reason);
}

/**
 * Ends a segment. Later calls are not recorded.
 *
 * @param outputs Borrowed: the tensors that a replay of the segment returns.
 * @returns The handles ({@link Tensor.id}) that came from outside, in the order in which a replay
 * must pass them.
 */
export function cutRecording(outputs: readonly NativeTensor[]): Float64Array {
  return guarded(() => addon().cutRecording(idsOf(outputs)));
}

/**
 * Begins the next segment.
 *
 * @param given Tensors from outside. A replay passes them in this order, before those that {@link
 * cutRecording} returns.
 * @param forgotten Tensors that count as coming from outside in the next segments.
 */
export function resumeRecording(given: readonly NativeTensor[], forgotten: readonly NativeTensor[]): void {
  guarded(() => addon().resumeRecording(idsOf(given), idsOf(forgotten)));
}

/**
 * Finishes the recording after the last {@link cutRecording}. Returns it, or the reason why the
 * step cannot be replayed.
 */
export function finishRecording(): Recording | string {
  const id = guarded(() => addon().finishRecording());
  return typeof id === 'string' ? id : new Recording(id);
}

/** Discards the recording. Call it if {@link finishRecording} is not called. */
export function abortRecording(): void {
  addon().abortRecording();
}

/** Whether all `handles` are still alive. */
export function areAlive(handles: readonly number[]): boolean {
  return handles.length === 0 || addon().tensorsAlive(Float64Array.from(handles));
}

/**
 * The index of an operator in plans of {@link Recording.rewrite}.
 *
 * @throws AccError `ACC_OPERATOR_UNKNOWN`.
 */
export function operatorIndex(name: string): number {
  return guarded(() => addon().resolveOperator(name).index);
}

/**
 * Why plans cannot have fused programs on the device of new tensors. Undefined if they can: on the
 * CPU, and on a GPU with CUDA whose libtorch comes with NVRTC.
 */
export function reasonAgainstPrograms(): string | undefined {
  return guarded(() => addon().reasonAgainstPrograms()) || undefined;
}

/** The properties of an output of a segment. */
export interface OutputMeta {
  readonly dtype: NativeDtype;
  readonly shape: readonly number[];
}

/** The sizes with which a recording replays arguments of other sizes. */
export interface JoinedSizes {
  /** For {@link Recording.useSizes}. */
  readonly sizes: number;
  /**
   * The numbers in which the two recordings differ, in pairs: that of the recording, then that of the
   * joined one. NaN and a number stand for what is more than a number.
   */
  readonly pairs: Float64Array;
}

/** An input of a segment that is the same tensor in every replay. */
export interface FixedInput {
  readonly segment: number;
  /** Its place among the inputs that {@link Recording.replay} takes. */
  readonly input: number;
  /** The handle of the tensor. */
  readonly id: number;
}

/** A difference between two recordings of a step. */
export interface Difference {
  readonly text: string;
  /** The place of a call of the later recording, see `placeRecordedCalls`. -1 for none. */
  readonly place: number;
}

/** A call of a sealed recording, with the time that it takes. */
export interface ReplayedCall {
  /** Its place among the calls of the recording when that was sealed. */
  readonly number: number;
  /**
   * The mean time in the last replays, in milliseconds. On a GPU the work may go on after a call
   * returns.
   */
  readonly ms: number;
  /** See `placeRecordedCalls`. */
  readonly place: number;
  /** The full name of the operator. Undefined for a fused program. */
  readonly op?: string;
  /** The first result. Undefined if nobody needs one. */
  readonly result: OutputMeta | undefined;
}

/** A large allocation of a replay. */
export interface Allocation {
  /** With what the allocator adds. */
  readonly bytes: number;
  /** The number of allocations before its release. Undefined: it outlives the replay. */
  readonly end: number | undefined;
}

/** The native calls of a step in segments, which C++ replays. The owner disposes it. */
export class Recording {
  readonly #id: number;

  /** @internal */
  constructor(id: number) {
    this.#id = id;
  }

  /**
   * The first difference of `later`, a recording of the same step, from this one. Undefined if they
   * are equal. Neither may be sealed yet.
   */
  differenceFrom(later: Recording): Difference | undefined {
    const [text, place] = guarded(() => addon().recordingDifference(later.#id, this.#id));
    return text === '' ? undefined : { text, place };
  }

  /**
   * Makes inputs constants for {@link constant} and {@link rewrite}: replays always give these
   * tensors, and while the recording lives, {@link memoryFlags} do not call their memory exclusive.
   * Leaves out tensors that were disposed, and those in memory that libtorch did not allocate. Call it
   * before {@link describe}, which names those that are constants.
   */
  fixInputs(inputs: readonly FixedInput[]): void {
    const numbers = inputs.flatMap(({ segment, input, id }) => [segment, input, id]);
    guarded(() => addon().fixRecordedInputs(this.#id, Float64Array.from(numbers)));
  }

  /** The calls as JSON text. Do not call it after {@link seal}. */
  describe(): string {
    return guarded(() => addon().describeRecording(this.#id));
  }

  /**
   * Computes a value that is the same in every replay: it depends only on tensors that JavaScript
   * made of numbers and on those of {@link fixInputs}, and no call writes into its memory. Do not
   * call it after {@link rewrite} or {@link seal}. Caller disposes.
   *
   * @param meta The dtype and the shape of the value.
   * @throws AccError `ACC_INVALID_ARGUMENT` for other values.
   */
  constant(value: number, { dtype, shape }: OutputMeta): Tensor {
    return new Tensor(
      guarded(() => addon().recordedConstant(this.#id, value)),
      dtype,
      shape,
    );
  }

  /**
   * Replaces the calls by those of `plan`. Call it between {@link describe} and {@link seal}. The
   * plan contains operators by {@link operatorIndex}.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`, and then nothing changes.
   */
  rewrite(plan: readonly number[]): void {
    guarded(() => addon().rewriteRecording(this.#id, Float64Array.from(plan)));
  }

  /** Prepares the recording for {@link replay}. */
  seal(): void {
    guarded(() => addon().sealRecording(this.#id));
  }

  /** The calls that replays run, with their times. Call it after {@link seal}. */
  times(): ReplayedCall[] {
    type Call = Omit<ReplayedCall, 'result'> & { readonly scalarType?: number; readonly shape?: number[] };
    const calls = JSON.parse(guarded(() => addon().recordingTimes(this.#id))) as Call[];
    return calls.map(({ scalarType, shape, ...call }) => ({
      ...call,
      result: scalarType === undefined ? undefined : { dtype: dtypeOf(scalarType), shape: shape! },
    }));
  }

  /**
   * When each call of {@link times} began and ended in the last replay, in pairs, in milliseconds of
   * `performance.now()`.
   */
  spans(): Float64Array {
    const spans = guarded(() => addon().recordingSpans(this.#id));
    const origin = Number(process.hrtime.bigint()) / 1e6 - performance.now();
    return spans.map((at) => at - origin);
  }

  /**
   * A number that two recordings share if they make the same calls on the same values, whatever the
   * sizes. Other recordings hardly ever share it.
   */
  get shapeOfCalls(): number {
    return guarded(() => addon().shapeOfRecordedCalls(this.#id));
  }

  /**
   * Makes this sealed recording also replay `other`, a recording of the same step with arguments of
   * other sizes, which is not sealed. Keeps only what differs.
   *
   * @param other Borrowed. It can then be sealed or disposed, but no longer be compared.
   * @returns Undefined if the calls differ in more than numbers.
   */
  join(other: Recording): JoinedSizes | undefined {
    const joined = guarded(() => addon().joinRecordings(this.#id, other.#id));
    return joined.length > 0 ? { sizes: joined[0]!, pairs: joined.subarray(1) } : undefined;
  }

  /** Switches replays to `sizes` of {@link join}; 0 stands for the recorded ones. */
  useSizes(sizes: number): void {
    guarded(() => addon().useRecordedSizes(this.#id, sizes));
  }

  /** Forgets `sizes` of {@link join}. */
  releaseSizes(sizes: number): void {
    guarded(() => addon().releaseRecordedSizes(this.#id, sizes));
  }

  /**
   * Replays the calls of one segment. Segments are replayed in order. After an error the next
   * replay starts with the first segment.
   *
   * @param inputs Handles from outside, in the order of the recording. Borrowed.
   * @returns The outputs of the segment. The caller disposes them.
   * @throws AccError `ACC_OPERATOR_FAILED`, `ACC_OUT_OF_MEMORY`, `ACC_TENSOR_DISPOSED`.
   */
  replay(segment: number, inputs: readonly number[], outputs: readonly OutputMeta[]): Tensor[] {
    const handles = guarded(() => replayHandles(this.#id, segment, inputs));
    return outputs.map(({ dtype, shape }, i) => new Tensor(handles[i]!, dtype, shape));
  }

  /**
   * The large allocations of the first replay that was traced, in their order. Empty if none was
   * traced yet, or if their places are planned.
   */
  allocations(): Allocation[] {
    const numbers = addon().recordingAllocations(this.#id);
    return Array.from({ length: numbers.length / 2 }, (_, i) => ({
      bytes: numbers[2 * i]!,
      end: numbers[2 * i + 1]! || undefined,
    }));
  }

  /**
   * Lets later replays put each of {@link allocations} at its place of one arena.
   *
   * @param places Offsets in bytes, which are multiples of 64; -1 for allocations outside of it.
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  planMemory(places: readonly number[], bytes: number): void {
    guarded(() => addon().planRecordingMemory(this.#id, Float64Array.from(places), bytes));
  }

  /**
   * Whether replays with `sizes` of {@link join}, or 0, follow a plan. It is dropped if they allocate
   * in another way.
   */
  isMemoryPlanned(sizes = 0): boolean {
    return addon().isRecordingMemoryPlanned(this.#id, sizes);
  }

  /** Releases values that replayed segments keep for later segments that will not be replayed. */
  reset(): void {
    addon().resetRecording(this.#id);
  }

  dispose(): void {
    addon().releaseRecording(this.#id);
  }
}
