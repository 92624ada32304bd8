import { locationOf } from '../location.js';
import { openCheckpoint } from '../read/open.js';
import { byteLengthOf, readBytes } from '../read/read-tensors.js';
import type { Storage } from '@acc/contract';
import { formatIn } from '@acc/kernels';
import { itemOfBytes } from '../write/items.js';
import { writeWeightFiles, type WriteWeightsOptions } from './write-weights.js';

/** The prefix of the names of weights in a checkpoint. */
export const PARAMETERS = 'parameters/';

export interface MergedWeights {
  readonly files: readonly string[];
  readonly tensors: number;
  /** The tensors that are records of quantized weights. */
  readonly quantized: number;
  readonly bytes: number;
}

/**
 * Merges the weights of a checkpoint, in which each rank has its own file, into one safetensors
 * file, or into several of `maxShardSize`. The optimizer's state is left out. It needs memory for
 * the largest tensor, and for some buffers of fixed size.
 *
 * @param from A checkpoint that `saveState` wrote.
 * @param to A folder.
 * @throws AccError `ACC_CHECKPOINT_NOT_FOUND`, `ACC_CHECKPOINT_CORRUPT`.
 */
export async function mergeWeights(
  from: string,
  to: string,
  options: WriteWeightsOptions & { readonly storage?: Storage } = {},
): Promise<MergedWeights> {
  const checkpoint = await openCheckpoint(locationOf(from, options.storage));
  const stored = Object.entries(checkpoint.index.tensors).filter(([name]) => name.startsWith(PARAMETERS));
  // One memory for all tensors, which are written one after the other: memory of each would stay
  // until the garbage collector runs.
  const memory = new ArrayBuffer(Math.max(0, ...stored.map(([, tensor]) => byteLengthOf(tensor))));
  const items = stored.map(([name, tensor]) =>
    itemOfBytes({ ...tensor, name: name.slice(PARAMETERS.length) }, () =>
      readBytes(checkpoint, name, new Uint8Array(memory, 0, byteLengthOf(tensor))),
    ),
  );
  const files = await writeWeightFiles(locationOf(to, options.storage), items, options);
  const bytes = items.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const quantized = items.filter(({ name }) => formatIn(name) !== undefined).length;
  return { files, tensors: items.length, quantized, bytes };
}
