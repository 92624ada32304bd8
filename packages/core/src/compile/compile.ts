import { env, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, type KernelLayer, type Recorder } from '@acc/contract';
import { engineInternals, tensorInternals } from '@acc/tfjs-internals';
import { partsOf } from './nested-values.js';
import { Reasons } from './reasons.js';
import type { Variant } from './variant.js';
import { MAX_VARIANTS, Variants } from './variants.js';

/** A step that is replayed once it was recorded; see `Accelerator.compile`. */
export interface CompiledStep<Args extends unknown[], R> {
  (...args: Args): R;
  /**
   * Why the step runs plainly, for the arguments of which that was found first; undefined while nothing is in the way. On a
   * backend that records no steps that, until one is active that does.
   */
  readonly reason: string | undefined;
  /** Calls so far that were replays. */
  readonly replays: number;
  /** Calls so far that ran plainly because their replay failed; after a few of them `reason` says why. */
  readonly failedReplays: number;
  /** Frees the recordings. The step can be called as before; it then runs plainly. */
  dispose(): void;
}

export interface CompileContext {
  readonly kernels: KernelLayer;
  /** What a step depends on beside its arguments, and changes seldom. */
  readonly surroundings: () => string;
  /** What keeps a step from being recorded now, in words; undefined for nothing. */
  readonly obstacle: () => string | undefined;
}

/** The function that `Accelerator.compile` returns. */
export function compileStep<Args extends unknown[], R>(
  step: (...args: Args) => R,
  { kernels, surroundings, obstacle }: CompileContext,
): CompiledStep<Args, R> {
  const variants = new Variants<R>();
  const reasons = new Reasons();
  let isDisposed = false;

  /** The recorder of the active backend. After another one was active the step is recorded anew: its tensors have moved. */
  function currentRecorder(): Recorder | undefined {
    const { recorder, backendName } = kernels;
    reasons.setBackend(recorder ? undefined : `the backend '${backendName}' records no steps`);
    if (!recorder) variants.forget();
    return recorder;
  }

  function variantFor(args: Args): { variant: Variant<R>; tensors: readonly Tensor[] } | undefined {
    if (isDisposed) return undefined;
    const recorder = currentRecorder();
    if (!recorder || recorder.isRecording || isWatched()) return undefined;
    const inTheWay = obstacle();
    if (inTheWay !== undefined) return void reasons.refuse(inTheWay);
    const { key, tensors, foreign } = partsOf(args);
    if (foreign !== undefined) {
      return void reasons.refuse(`it is given a ${foreign}, which nothing is known of`);
    }
    const variant = variants.of(`${key}|${surroundings()}`, recorder, reasons.refuse);
    if (variant) return { variant, tensors };
    return void reasons.refuse(
      `its arguments are of more than ${MAX_VARIANTS} kinds: shapes, dtypes, plain values`,
    );
  }

  const call = (...args: Args): R => {
    const found = variantFor(args);
    return engineInternals().tidy('compiled step', () => {
      if (!found) return synchronous(step(...args));
      for (const tensor of found.tensors) requireAlive(tensor);
      return found.variant.call(found.tensors, () => synchronous(step(...args)));
    });
  };
  return Object.defineProperties(call, {
    reason: { get: () => reasons.current },
    replays: { get: () => variants.replays },
    failedReplays: { get: () => variants.failedReplays },
    dispose: {
      value: () => {
        isDisposed = true;
        variants.forget();
      },
    },
  }) as CompiledStep<Args, R>;
}

/** Whether somebody wants to see each operation: a tape, a profile, debug mode. */
function isWatched(): boolean {
  const { gradientDepth, profiling } = engineInternals().state;
  return gradientDepth > 0 || profiling || env().getBool('DEBUG');
}

function requireAlive(tensor: Tensor): void {
  // tfjs's own error, which its types hide.
  tensorInternals(tensor).throwIfDisposed();
}

function synchronous<R>(result: R): R {
  if (typeof (result as { then?: unknown } | null | undefined)?.then !== 'function') return result;
  throw new AccError('ACC_COMPILE_ASYNC', 'A compiled step must not be asynchronous, as in tf.tidy.', {
    help: 'Return tensors, and await their data outside of the step.',
  });
}
