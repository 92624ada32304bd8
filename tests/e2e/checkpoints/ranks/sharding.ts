// A test strategy with sharded parameters: by rows, by columns, or as a range over several tensors.
import * as tf from '@tensorflow/tfjs';
import type { Strategy } from '@acc/core';

export interface Box {
  readonly name?: string;
  readonly shape: readonly number[];
  readonly offset: readonly number[];
  readonly sizes: readonly number[];
  readonly start: number;
}

/** The boxes of some whole tensors that a rank holds in one variable. */
export interface Shard {
  readonly variable: tf.Variable;
  readonly boxes: readonly Box[];
}

export interface Whole {
  readonly name: string;
  readonly shape: readonly number[];
}

/**
 * @param size The number of ranks. Each returns its share of the mean over all ranks, and adds
 * nothing from others.
 */
export function shardingStrategy(shards: readonly Shard[], size: number): Strategy {
  const held = new Map(shards.map(({ variable, boxes }) => [variable, boxes]));
  return {
    name: 'sharding',
    traits: { parameters: 'sharded' },
    attach() {},
    prepareVariables() {},
    layout: { shardsOf: (variable) => held.get(variable) },
    beginReduction(variables) {
      const grads = new Array<tf.Tensor | null>(variables.length).fill(null);
      return {
        ready(place, grad) {
          grads[place] = tf.mul(grad, size);
          grad.dispose();
        },
        finish: () => grads,
      };
    },
  };
}

const sizeOf = (shape: readonly number[]) => shape.reduce((count, length) => count * length, 1);
const share = (length: number, rank: number, size: number) => {
  const [start, end] = [Math.floor((length * rank) / size), Math.floor((length * (rank + 1)) / size)];
  return { start, count: end - start };
};

/** Rows or columns of a tensor. A rank may get none. */
export function sliceOf(whole: Whole, dim: 0 | 1, rank: number, size: number): Shard {
  const { start, count } = share(whole.shape[dim]!, rank, size);
  const sizes = whole.shape.map((length, d) => (d === dim ? count : length));
  const offset = whole.shape.map((_, d) => (d === dim ? start : 0));
  const variable = tf.variable(tf.zeros(sizes), true, `${whole.name}`);
  return { variable, boxes: [{ shape: whole.shape, offset, sizes, start: 0 }] };
}

/** A range of the concatenated elements of several tensors. */
export function rangeOf(name: string, wholes: readonly Whole[], rank: number, size: number): Shard {
  const total = wholes.reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  const { start: first, count } = share(total, rank, size);
  const variable = tf.variable(tf.zeros([count]), true, name);
  const boxes: Box[] = [];
  let at = 0;
  for (const whole of wholes) {
    const [begin, end] = [Math.max(first, at), Math.min(first + count, at + sizeOf(whole.shape))];
    if (begin < end) boxes.push(...boxesOf(whole, begin - at, end - at, begin - first));
    at += sizeOf(whole.shape);
  }
  return { variable, boxes };
}

/**
 * Elements `begin` to `end` of a matrix or vector: the rest of a row, whole rows, and the start of
 * a row.
 */
function boxesOf({ name, shape }: Whole, begin: number, end: number, start: number): Box[] {
  if (shape.length === 1) return [{ name, shape, offset: [begin], sizes: [end - begin], start }];
  const columns = shape[1]!;
  const boxes: Box[] = [];
  for (let at = begin; at < end;) {
    const [row, column] = [Math.floor(at / columns), at % columns];
    const rows = column === 0 ? Math.floor((end - at) / columns) : 0;
    const sizes = rows > 0 ? [rows, columns] : [1, Math.min(columns - column, end - at)];
    boxes.push({ name, shape, offset: [row, column], sizes, start: start + at - begin });
    at += sizeOf(sizes);
  }
  return boxes;
}

/** The index of each element in its whole tensor, in the order of the shard. */
export function numbersOf({ variable, boxes }: Shard): { name: string; number: number }[] {
  const numbers = new Array<{ name: string; number: number }>(variable.size);
  for (const { name = variable.name, shape, offset, sizes, start } of boxes) {
    for (let i = 0; i < sizeOf(sizes); i++) {
      let rest = i;
      let number = 0;
      let stride = 1;
      for (let dim = shape.length - 1; dim >= 0; dim--) {
        number += (offset[dim]! + (rest % sizes[dim]!)) * stride;
        rest = Math.floor(rest / sizes[dim]!);
        stride *= shape[dim]!;
      }
      numbers[start + i] = { name, number };
    }
  }
  return numbers;
}
