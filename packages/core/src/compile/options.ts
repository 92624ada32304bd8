import { AccError, checkKeys, type Fusion } from '@acc/contract';

/** The options of `Accelerator.compile`. */
export interface CompileOptions {
  /**
   * Whether replays fuse native calls and leave out calls that compute the same again. The results
   * of single operators may then differ by rounding: in float32 by about 1e-6, in bfloat16 by the
   * last bit. `'exact'` fuses only where every bit stays the same. `step.explain()` says what was
   * fused. On CPUs, and on GPUs with CUDA.
   * Default: `false`.
   */
  readonly fuse?: Fusion;
}

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function fusionOf(options: CompileOptions): Fusion {
  checkKeys('compile', options, ['fuse']);
  const { fuse = false } = options;
  if (typeof fuse === 'boolean' || fuse === 'exact') return fuse;
  throw new AccError('ACC_INVALID_OPTION', `compile: fuse is ${JSON.stringify(fuse)}.`, {
    help: "Expected true, false or 'exact'.",
  });
}
