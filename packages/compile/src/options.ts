import { AccError, checkKeys, type Fusion } from '@acc/contract';

/** The options of `Accelerator.compile`. */
export interface CompileOptions {
  /**
   * Whether replays fuse native calls, and leave out calls that compute the same again.
   *
   * - `'plain'` fuses what plain steps fuse: elementwise operators on CPUs, with the same bits and at
   *   most the same memory.
   * - `false` makes each recorded call by itself. On a CPU that can need more memory than plain steps.
   * - `'exact'` fuses only where every bit stays the same, on CPUs and on GPUs with CUDA.
   * - `true` also fuses what then rounds in another way: in float32 by about 1e-6, in bfloat16 by the
   *   last bit.
   *
   * `step.explain()` says what was fused.
   * Default: `'plain'`.
   */
  readonly fuse?: Fusion;
}

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function fusionOf(options: CompileOptions): Fusion {
  checkKeys('compile', options, ['fuse']);
  const { fuse = 'plain' } = options;
  if (typeof fuse === 'boolean' || fuse === 'plain' || fuse === 'exact') return fuse;
  throw new AccError('ACC_INVALID_OPTION', `compile: fuse is ${JSON.stringify(fuse)}.`, {
    help: "Expected 'plain', false, 'exact' or true.",
  });
}
