import type { Tensor } from '@tensorflow/tfjs-core';
import {
  runsOfShard,
  type StateArray,
  type StateLayer,
  type TensorBytes,
  type TensorShard,
} from '@acc/contract';
import { wholeBox } from '../format/boxes.js';
import { arrayNameOf, dtypeOfArray, elementBytes, elementsOf, storedDtypeOf } from '../format/dtypes.js';
import type { StoredDtype } from '../format/dtypes.js';
import type { EncodedTree } from '../format/state-tree.js';

/**
 * A tensor and its name in a checkpoint. The name is the same on every rank that holds the tensor
 * or shards of it.
 */
export interface NamedTensor {
  readonly name: string;
  readonly tensor: Tensor;
  /**
   * The boxes of whole tensors that the elements of `tensor` belong to. A shard without a name has
   * the name of the tensor. Default: the tensor is whole.
   */
  readonly shards?: readonly TensorShard[] | undefined;
  /** Whether ranks hold other values under the name. Those of the first one are then written. */
  readonly isOfFirst?: boolean;
}

/** Elements that a rank can write: a box of a whole tensor. */
export interface Piece {
  readonly name: string;
  readonly dtype: StoredDtype;
  /** The shape of the whole tensor. */
  readonly shape: readonly number[];
  readonly offset: readonly number[];
  readonly sizes: readonly number[];
  readonly byteLength: number;
  /** Whether the first rank that holds the elements writes them. */
  readonly isOfFirst?: boolean | undefined;
  /**
   * The tensor that holds the elements. Undefined if the elements are not those of a tensor in
   * memory.
   */
  readonly tensor: Tensor | undefined;
  /**
   * Gives the bytes of the piece. It must be called before the tensor is disposed. The caller
   * disposes the bytes.
   */
  open(tensor: Tensor | undefined): Promise<TensorBytes>;
  /** As {@link open}, at once. Absent if the bytes are only known later. */
  openNow?(tensor: Tensor | undefined): TensorBytes;
}

/** The key of a piece in a safetensors file. It is unique. */
export function keyOf({
  name,
  shape,
  offset,
  sizes,
}: Pick<Piece, 'name' | 'shape' | 'offset' | 'sizes'>): string {
  const isWhole = sizes.every((size, dim) => size === shape[dim]);
  return isWhole ? name : `${name}[${offset.join()}]`;
}

export function piecesOfTree({ tensors, arrays }: EncodedTree, layer: StateLayer): Piece[] {
  return [
    ...tensors.flatMap(({ name, value }) => piecesOfTensor({ name, tensor: value }, layer)),
    ...arrays.map(({ name, value }) => pieceOfArray(name, value)),
  ];
}

export function piecesOfTensor(named: NamedTensor, layer: StateLayer): Piece[] {
  const { name: ownName, tensor, shards, isOfFirst } = named;
  const dtype = storedDtypeOf(layer.dtypeOf(tensor));
  const size = elementBytes(dtype);
  return (shards ?? [{ shape: tensor.shape, ...wholeBox(tensor.shape), start: 0 }])
    .filter(({ shape, sizes }) => elementsOf(sizes) > 0 || elementsOf(shape) === 0)
    .map((shard) => {
      const { name = ownName, shape, offset, sizes } = shard;
      const byteLength = elementsOf(sizes) * size;
      const cut = (all: TensorBytes) => bytesOfShard(all, shard, size);
      return {
        name,
        dtype,
        shape,
        offset,
        sizes,
        byteLength,
        isOfFirst,
        tensor,
        open: async (held) => cut(await layer.bytesOf(held!)),
        openNow: (held) => cut(layer.bytesNow(held!)),
      } satisfies Piece;
    });
}

/** The bytes of a shard's box. Takes over `all`, the bytes of the variable. */
function bytesOfShard(all: TensorBytes, shard: TensorShard, elementSize: number): TensorBytes {
  const byteLength = elementsOf(shard.sizes) * elementSize;
  if (!shard.runs) {
    const begin = shard.start * elementSize;
    return bytesFrom(all.bytes.subarray(begin, begin + byteLength), () => all.dispose());
  }
  const bytes = new Uint8Array(byteLength);
  for (const { inBox, inVariable, length } of runsOfShard(shard)) {
    const from = inVariable * elementSize;
    bytes.set(all.bytes.subarray(from, from + length * elementSize), inBox * elementSize);
  }
  all.dispose();
  return bytesFrom(bytes, () => {});
}

/** A whole tensor as a piece. */
export function pieceOfTensor(name: string, tensor: Tensor, layer: StateLayer): Piece {
  return piecesOfTensor({ name, tensor }, layer)[0]!;
}

/** A whole tensor whose elements are read when they are written. */
export function pieceOfBytes(
  about: Pick<Piece, 'name' | 'dtype' | 'shape'>,
  read: () => Promise<Uint8Array>,
): Piece {
  return pieceOnDemand(about, async () => bytesFrom(await read(), () => {}));
}

/**
 * A whole tensor whose bytes `open` gives when they are written, and which are disposed afterwards.
 */
export function pieceOnDemand(
  { name, dtype, shape }: Pick<Piece, 'name' | 'dtype' | 'shape'>,
  open: () => Promise<TensorBytes>,
): Piece {
  const byteLength = elementsOf(shape) * elementBytes(dtype);
  return { name, dtype, shape, ...wholeBox(shape), byteLength, tensor: undefined, open };
}

/** Copies the array, because its owner may change it during the save. */
function pieceOfArray(name: string, array: StateArray): Piece {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength).slice();
  const dtype = dtypeOfArray(arrayNameOf(array)!);
  return {
    ...pieceOfBytes({ name, dtype, shape: [array.length] }, () => Promise.resolve(bytes)),
    openNow: () => bytesFrom(bytes, () => {}),
  };
}

function bytesFrom(bytes: Uint8Array, dispose: () => void): TensorBytes {
  return { bytes, dispose, [Symbol.dispose]: dispose };
}
