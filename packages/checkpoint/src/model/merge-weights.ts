import { locationOf } from '../location.js';
import { openCheckpoint } from '../read/open.js';
import { readBytes } from '../read/read-tensors.js';
import type { Storage } from '@acc/contract';
import { pieceOfBytes } from '../write/pieces.js';
import { writeWeightPieces, type WriteWeightsOptions } from './write-weights.js';

/** The prefix of the names of weights in a checkpoint. */
export const PARAMETERS = 'parameters/';

export interface MergedWeights {
  readonly files: readonly string[];
  readonly tensors: number;
  readonly bytes: number;
}

/**
 * Merges the weights of a checkpoint, in which each rank has its own file, into one safetensors
 * file, or into several of `maxShardSize`. Only one tensor at a time is in memory. The optimizer's
 * state is left out.
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
  const pieces = stored.map(([name, { dtype, shape }]) =>
    pieceOfBytes({ name: name.slice(PARAMETERS.length), dtype, shape }, () => readBytes(checkpoint, name)),
  );
  const files = await writeWeightPieces(locationOf(to, options.storage), pieces, options);
  const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return { files, tensors: pieces.length, bytes };
}
