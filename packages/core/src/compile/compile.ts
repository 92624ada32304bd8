import { engine, env, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, type KernelLayer } from '@acc/contract';
import { engineInternals } from '../gradient-driver/engine-internals.js';
import { partsOf } from './nested-values.js';
import { Variant } from './variant.js';

/** Kinds of arguments that one step is recorded for. */
const MAX_VARIANTS = 8;

/** A step that is replayed once it was recorded; see `Accelerator.compile`. */
export interface CompiledStep<Args extends unknown[], R> {
  (...args: Args): R;
  /** Why the step runs plainly, for the arguments of which that was found first; undefined while nothing is in the way. */
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
  const { recorder, backendName } = kernels;
  const variants = new Map<string, Variant<R>>();
  let reason: string | undefined;
  let isDisposed = false;
  const refuse = (why: string) => {
    if (reason !== undefined) return;
    reason = why;
    console.warn(`acc: a compiled step runs without being replayed: ${why}.`);
  };

  function variantFor(args: Args): { variant: Variant<R>; tensors: readonly Tensor[] } | undefined {
    if (isDisposed) return undefined;
    if (!recorder) return void refuse(`the backend '${backendName}' records no steps`);
    if (recorder.isRecording || isWatched()) return undefined;
    const inTheWay = obstacle();
    if (inTheWay !== undefined) return void refuse(inTheWay);
    if (engine().backendName !== backendName) {
      return void refuse(`the backend is '${engine().backendName}', no longer '${backendName}'`);
    }
    const { key, tensors, foreign } = partsOf(args);
    if (foreign !== undefined) return void refuse(`it is given a ${foreign}, which nothing is known of`);
    const fullKey = `${key}|${surroundings()}`;
    let variant = variants.get(fullKey);
    if (!variant) {
      if (variants.size >= MAX_VARIANTS) {
        return void refuse(
          `its arguments are of more than ${MAX_VARIANTS} kinds: shapes, dtypes, plain values`,
        );
      }
      variant = new Variant<R>({ recorder, onRefused: refuse });
      variants.set(fullKey, variant);
    }
    return { variant, tensors };
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
    reason: { get: () => reason },
    replays: { get: () => sumOf(variants, 'replays') },
    failedReplays: { get: () => sumOf(variants, 'failedReplays') },
    dispose: {
      value: () => {
        isDisposed = true;
        for (const variant of variants.values()) variant.dispose();
      },
    },
  }) as CompiledStep<Args, R>;
}

function sumOf(variants: ReadonlyMap<string, Variant<unknown>>, count: 'replays' | 'failedReplays'): number {
  return [...variants.values()].reduce((sum, variant) => sum + variant[count], 0);
}

/** Whether somebody wants to see each operation: a tape, a profile, debug mode. */
function isWatched(): boolean {
  const { gradientDepth, profiling } = engineInternals().state;
  return gradientDepth > 0 || profiling || env().getBool('DEBUG');
}

function requireAlive(tensor: Tensor): void {
  // tfjs's own error, which its types hide.
  (tensor as unknown as { throwIfDisposed(): void }).throwIfDisposed();
}

function synchronous<R>(result: R): R {
  if (typeof (result as { then?: unknown } | null | undefined)?.then !== 'function') return result;
  throw new AccError('ACC_COMPILE_ASYNC', 'A compiled step must not be asynchronous, as in tf.tidy.', {
    help: 'Return tensors, and await their data outside of the step.',
  });
}
