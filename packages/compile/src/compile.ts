import { explain, Variants } from '#platform/variants';
import { env } from '@tensorflow/tfjs-core';
import { AccError, type Fusion, type KernelLayer, type Recorder } from '@acc/contract';
import { engineInternals } from '@acc/tfjs-internals';
import { Reasons } from './reasons.js';
import type { FoundVariant } from './variants.js';

/** A step that is replayed after it has been recorded. See `Accelerator.compile`. */
export interface CompiledStep<Args extends unknown[], R> {
  (...args: Args): R;
  /**
   * The reason why the step runs without replay, for the arguments with which it was found first.
   * Undefined if there is none. If the active backend cannot record steps, that is the reason until
   * another backend is active.
   */
  readonly reason: string | undefined;
  /** The number of calls that were replays. */
  readonly replays: number;
  /**
   * The number of calls that ran without replay because their replay failed. After a few failures
   * `reason` says why.
   */
  readonly failedReplays: number;
  /**
   * Explains what the replays fuse and what not, and where their time goes, as text for people. If
   * calls run without replay it begins with the reason, the line of the user's program and what to
   * do. For each recording it has the arguments that it serves, which of their dims vary, the
   * number of replays and of native calls, the reasons why calls run alone, and the mean time in
   * the last replays of each fused program and operator, with lines of the user's program. For
   * other arguments it says why they are not replayed.
   */
  explain(): string;
  /** Frees the recordings. The step can still be called, and then runs without replay. */
  dispose(): void;
}

export interface CompileContext {
  readonly kernels: KernelLayer;
  readonly fuse: Fusion;
  /**
   * In words, everything besides its arguments that a step depends on and that rarely changes.
   *
   * @param microBatches The number of micro-batches that the step runs itself.
   */
  readonly surroundings: (microBatches: number) => string;
  /** The number of micro-batches that have begun. */
  readonly microBatches: () => number;
  /** The reason why a step cannot be recorded now. Undefined if there is none. */
  readonly obstacle: () => string | undefined;
  /** Is called with each call of the step. */
  readonly onCall: () => void;
}

/** The function that `Accelerator.compile` returns. */
export function compileStep<Args extends unknown[], R>(
  step: (...args: Args) => R,
  { kernels, fuse, surroundings, microBatches, obstacle, onCall }: CompileContext,
): CompiledStep<Args, R> {
  const variants = new Variants<R>();
  const reasons = new Reasons();
  let isDisposed = false;
  /** The number of calls in another recording, or under a gradient, profile or debug mode. */
  const asUsual = { inRecording: 0, watched: 0 };
  /** The most micro-batches that a call has run. */
  let ownMicroBatches = 0;

  /**
   * The recorder of the active backend. After a change of backends the step is recorded again,
   * because its tensors have moved.
   */
  function currentRecorder(): Recorder | undefined {
    const { recorder, backendName } = kernels;
    reasons.setBackend(recorder ? undefined : `the backend '${backendName}' cannot record steps`);
    if (!recorder) variants.forget();
    return recorder;
  }

  function variantFor(args: Args): FoundVariant<R> | undefined {
    if (isDisposed) return undefined;
    const recorder = currentRecorder();
    if (!recorder) return undefined;
    if (recorder.isRecording) return void asUsual.inRecording++;
    if (isWatched()) return void asUsual.watched++;
    const inTheWay = obstacle();
    if (inTheWay !== undefined) return void reasons.refuse(inTheWay);
    return variants.of(args, {
      recorder,
      fuse,
      surroundings: surroundings(ownMicroBatches),
      onRefused: reasons.refuse,
    });
  }

  /** The step may not use the tensor: it may have written it into an argument itself. */
  function withDisposed(args: Args): R {
    const result = synchronous(step(...args));
    reasons.refuse('its arguments contain a disposed tensor');
    return result;
  }

  const call = (...args: Args): R => {
    onCall();
    const found = variantFor(args);
    return engineInternals().tidy('compiled step', () => {
      if (!found) return synchronous(step(...args));
      if (found.tensors.some((tensor) => tensor.isDisposed)) return withDisposed(args);
      const run = () => synchronous(step(...args));
      const before = microBatches();
      const { variant, tensors, watchArguments } = found;
      const result = variant.call({ args: tensors, run, watchArguments });
      ownMicroBatches = Math.max(ownMicroBatches, microBatches() - before);
      return result;
    });
  };
  return Object.defineProperties(call, {
    reason: { get: () => reasons.current },
    replays: { get: () => variants.replays },
    failedReplays: { get: () => variants.failedReplays },
    explain: {
      value: () => explain(variants, isDisposed ? 'it was disposed' : reasons.current, asUsual),
    },
    dispose: {
      value: () => {
        isDisposed = true;
        variants.forget();
      },
    },
  }) as CompiledStep<Args, R>;
}

/** Whether every operation must be visible to a tape, a profile or debug mode. */
function isWatched(): boolean {
  const { gradientDepth, profiling } = engineInternals().state;
  return gradientDepth > 0 || profiling || env().getBool('DEBUG');
}

function synchronous<R>(result: R): R {
  if (typeof (result as { then?: unknown } | null | undefined)?.then !== 'function') return result;
  throw new AccError('ACC_COMPILE_ASYNC', 'A compiled step must not be asynchronous, as in tf.tidy.', {
    help: 'Return tensors, and await their data outside the step.',
  });
}
