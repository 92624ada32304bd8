import type { Tensor } from '@tensorflow/tfjs-core';
import {
  runsOfShard,
  type StateArray,
  type StateLayer,
  type TensorBytes,
  type TensorShard,
} from '@acc/contract';
import { packedOf, recordBytes, recordTensor } from '@acc/kernels';
import { fullBox } from '../format/boxes.js';
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
  /** Whether the tensor is packed, and its records are stored, int32, in place of float32 values. */
  readonly isPacked?: boolean;
  /** Whether ranks hold other values under the name. Those of the first one are then written. */
  readonly isOfFirst?: boolean;
}

/** Elements that a rank can write: a box of a whole tensor. */
export interface WriteItem {
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
   * Gives the bytes of the item. It must be called before the tensor is disposed. The caller
   * disposes the bytes.
   */
  open(tensor: Tensor | undefined): Promise<TensorBytes>;
  /** As {@link open}, at once. Absent if the bytes are only known later. */
  openNow?(tensor: Tensor | undefined): TensorBytes;
}

/** The key of an item in a safetensors file. It is unique. */
export function keyOf({
  name,
  shape,
  offset,
  sizes,
}: Pick<WriteItem, 'name' | 'shape' | 'offset' | 'sizes'>): string {
  const isWhole = sizes.every((size, dim) => size === shape[dim]);
  return isWhole ? name : `${name}[${offset.join()}]`;
}

export function itemsOfTree({ tensors, arrays }: EncodedTree, layer: StateLayer): WriteItem[] {
  return [
    ...tensors.flatMap(({ name, value }) => itemsOfTensor({ name, tensor: value }, layer)),
    ...arrays.map(({ name, value }) => itemOfArray(name, value)),
  ];
}

export function itemsOfTensor(named: NamedTensor, layer: StateLayer): WriteItem[] {
  if (named.isPacked) return [itemOfRecords(named, layer)];
  const { name: ownName, tensor, shards, isOfFirst } = named;
  const dtype = storedDtypeOf(layer.dtypeOf(tensor));
  const size = elementBytes(dtype);
  return (shards ?? [{ shape: tensor.shape, ...fullBox(tensor.shape), start: 0 }])
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
      } satisfies WriteItem;
    });
}

/** The records of a packed tensor, which are made when they are written. */
function itemOfRecords({ name, tensor }: NamedTensor, layer: StateLayer): WriteItem {
  const { shape } = packedOf(tensor)!.records;
  return {
    ...{ name, tensor, shape, dtype: 'I32', ...fullBox(shape), byteLength: recordBytes({ shape }) },
    async open(held) {
      const records = recordTensor(packedOf(held!)!.records);
      try {
        return await layer.bytesOf(records);
      } finally {
        records.dispose();
      }
    },
    openNow(held) {
      const records = recordTensor(packedOf(held!)!.records);
      try {
        return layer.bytesNow(records);
      } finally {
        records.dispose();
      }
    },
  };
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

/** A whole tensor as an item. */
export function itemOfTensor(name: string, tensor: Tensor, layer: StateLayer): WriteItem {
  return itemsOfTensor({ name, tensor }, layer)[0]!;
}

/** A whole tensor whose elements are read when they are written. */
export function itemOfBytes(
  about: Pick<WriteItem, 'name' | 'dtype' | 'shape'>,
  read: () => Promise<Uint8Array>,
): WriteItem {
  return itemOnDemand(about, async () => bytesFrom(await read(), () => {}));
}

/**
 * A whole tensor whose bytes `open` gives when they are written, and which are disposed afterwards.
 */
export function itemOnDemand(
  { name, dtype, shape }: Pick<WriteItem, 'name' | 'dtype' | 'shape'>,
  open: () => Promise<TensorBytes>,
): WriteItem {
  const byteLength = elementsOf(shape) * elementBytes(dtype);
  return { name, dtype, shape, ...fullBox(shape), byteLength, tensor: undefined, open };
}

/** Copies the array, because its owner may change it during the save. */
function itemOfArray(name: string, array: StateArray): WriteItem {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength).slice();
  const dtype = dtypeOfArray(arrayNameOf(array)!);
  return {
    ...itemOfBytes({ name, dtype, shape: [array.length] }, () => Promise.resolve(bytes)),
    openNow: () => bytesFrom(bytes, () => {}),
  };
}

function bytesFrom(bytes: Uint8Array, dispose: () => void): TensorBytes {
  return { bytes, dispose, [Symbol.dispose]: dispose };
}
