import type { Tensor } from '@tensorflow/tfjs-core';
import type { AttentionBlock } from '@acc/contract';

/** The inputs of attention on one rank. */
export interface RingInputs {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly mask: Tensor | undefined;
}

/** Results of forward that the gradient needs beside the inputs. */
export interface RingResult {
  /** The output for all keys, and the logarithms of the sums over them. */
  readonly all: AttentionBlock;
  /** With dropout: for each block, the weights that are kept, bool `[batch, heads, queries, keys]`. */
  readonly keeps: readonly Tensor[];
}
