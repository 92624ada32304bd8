import { util } from '@tensorflow/tfjs-core';
import { AccError, type TensorShard } from '@acc/contract';
import { packedShapeOf, type Packing } from '../presets/kernels.js';

/**
 * The rows of a packed moment that a rank has.
 *
 * @param shards This rank's elements of the variable.
 * @throws AccError `ACC_STATE_INVALID` if they are not whole blocks.
 */
export function packedShards(
  variable: { readonly name: string },
  shards: readonly TensorShard[],
  packing: Packing,
): TensorShard[] {
  const inOrder = [...shards].sort((a, b) => a.start - b.start);
  if (inOrder.length === 0) return [];
  const { shape, name } = inOrder[0]!;
  const sizeOf = ({ sizes }: TensorShard) => util.sizeFromShape([...sizes]);
  const begin = placeOf(inOrder[0]!);
  const size = inOrder.reduce((sum, shard) => sum + sizeOf(shard), 0);
  const follow = inOrder.every(
    (shard) => !shard.runs && shard.name === name && placeOf(shard) === begin + shard.start,
  );
  const elements = util.sizeFromShape([...shape]);
  const isWhole =
    begin % packing.block === 0 && ((begin + size) % packing.block === 0 || begin + size === elements);
  if (size > 0 && !(follow && isWhole)) throw notBlocks(variable.name, packing);
  const [rows, words] = packedShapeOf(size, packing);
  return [
    {
      ...(name !== undefined && { name }),
      shape: packedShapeOf(elements, packing),
      offset: [size > 0 ? begin / packing.block : 0, 0],
      sizes: size > 0 ? [rows, words] : [0, 0],
      start: 0,
    },
  ];
}

/** The first element of a box, row-major. */
function placeOf({ shape, offset }: TensorShard): number {
  return offset.reduce((place, index, dim) => place * shape[dim]! + index, 0);
}

function notBlocks(name: string, { bits, block }: Packing): AccError {
  return new AccError(
    'ACC_STATE_INVALID',
    `The optimizer packs its state in ${bits} bits by blocks of ${block} elements, but the elements of '${name}' on this rank are not whole blocks.`,
    { help: 'Leave out stateBits where ranks share rows or columns of a weight.' },
  );
}
