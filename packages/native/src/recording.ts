import type { NativeDtype, NativeTensor } from '@acc/contract';
import { addon } from './addon.js';
import { replayHandles } from './call-buffer.js';
import { guarded } from './errors.js';
import { Tensor } from './tensor.js';

// A step is written down by the addon while it runs: every operator call from `startRecording` on, but for those between
// `cutRecording` and `resumeRecording`. Handles that no recorded call gave come from outside; the tensors behind them are
// given anew at each replay.

/** Begins a recording; the process has one at a time. */
export function startRecording(): void {
  addon().startRecording();
}

/** Says that the step under way cannot be replayed, and why; the first reason stays. Does nothing where nothing is recorded. */
export function refuseRecording(reason: string): void {
  addon().refuseRecording(reason);
}

/**
 * Ends a segment: what is called from now on is not recorded.
 *
 * @param outputs Borrowed: what a replay of the segment is to give.
 * @returns The handles ({@link Tensor.id}) that came from outside, in the order in which a replay is to be given them.
 */
export function cutRecording(outputs: readonly NativeTensor[]): Float64Array {
  return guarded(() => addon().cutRecording(idsOf(outputs)));
}

/**
 * Begins the next segment.
 *
 * @param given From outside; a replay is to be given them in this order, before those that {@link cutRecording} returns.
 * @param forgotten From outside from now on, if they are used, whatever they were before.
 */
export function resumeRecording(given: readonly NativeTensor[], forgotten: readonly NativeTensor[]): void {
  guarded(() => addon().resumeRecording(idsOf(given), idsOf(forgotten)));
}

/** To be called after the last {@link cutRecording}: the recording, or the reason why there is none. */
export function finishRecording(): Recording | string {
  const id = guarded(() => addon().finishRecording());
  return typeof id === 'string' ? id : new Recording(id);
}

/** Drops what was recorded; to be called wherever {@link finishRecording} is not. */
export function abortRecording(): void {
  addon().abortRecording();
}

/** Whether none of `handles` was disposed. */
export function areAlive(handles: readonly number[]): boolean {
  return handles.length === 0 || addon().tensorsAlive(Float64Array.from(handles));
}

/** What a segment gives. */
export interface OutputMeta {
  readonly dtype: NativeDtype;
  readonly shape: readonly number[];
}

/** The native calls of a step in segments, to be repeated in C++. The owner disposes it. */
export class Recording {
  readonly #id: number;

  /** @internal */
  constructor(id: number) {
    this.#id = id;
  }

  /** The first thing in which `other` is not the same, in words; undefined for none. Neither may be sealed yet. */
  differenceFrom(other: Recording): string | undefined {
    return guarded(() => addon().recordingDifference(other.#id, this.#id)) || undefined;
  }

  /** Makes it ready for {@link replay}. */
  seal(): void {
    guarded(() => addon().sealRecording(this.#id));
  }

  /**
   * Repeats the calls of one segment; segments are replayed in their order. After an error it begins with the first again.
   *
   * @param inputs Handles from outside, in the order of the recording. Borrowed.
   * @returns The segment's outputs; the caller disposes them.
   * @throws AccError `ACC_OPERATOR_FAILED`, `ACC_OUT_OF_MEMORY`, `ACC_TENSOR_DISPOSED`.
   */
  replay(segment: number, inputs: readonly number[], outputs: readonly OutputMeta[]): Tensor[] {
    const handles = guarded(() => replayHandles(this.#id, segment, inputs));
    return outputs.map(({ dtype, shape }, i) => new Tensor(handles[i]!, dtype, shape));
  }

  /** Lets go of what replayed segments hold for those that will not be. */
  reset(): void {
    addon().resetRecording(this.#id);
  }

  dispose(): void {
    addon().releaseRecording(this.#id);
  }
}

function idsOf(tensors: readonly NativeTensor[]): Float64Array {
  return Float64Array.from(tensors, (tensor) => (tensor as Tensor).id);
}
