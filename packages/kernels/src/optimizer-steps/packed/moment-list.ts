import { zeros, zerosLike, type Variable } from '@tensorflow/tfjs-core';
import type { SlotList, Update } from '../slots.js';
import { codebookOf } from './codebook.js';
import { LARGEST_BLOCK, mayPack, packedShape, type Packing, type StateBits } from './packing.js';

/**
 * The state of one kind of moment.
 *
 * @param isSigned Whether values may be negative.
 */
export function momentList(suffix: string, bits: StateBits, isSigned: boolean): SlotList {
  if (bits === 32) return { slots: [], suffix, initial: zerosLike };
  const block = bits === 8 ? LARGEST_BLOCK : LARGEST_BLOCK / 2;
  const packing: Packing = {
    bits,
    block,
    words: (block * bits) / 32 + 1,
    values: codebookOf(bits, isSigned),
  };
  const shapeFor = (variable: Variable) =>
    mayPack(variable) ? packedShape(variable.size, packing) : variable.shape;
  return {
    slots: [],
    suffix,
    shapeFor,
    packing,
    initial: (variable) => zeros([...shapeFor(variable)], mayPack(variable) ? 'int32' : 'float32'),
  };
}

/** Whether the state of a variable is packed. */
export function hasPackedState({ state }: Pick<Update, 'state'>): boolean {
  return state[0]?.dtype === 'int32';
}
