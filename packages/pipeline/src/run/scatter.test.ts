import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Collective } from '@acc/contract';
import { Scatter, type SameValues } from './scatter.js';

const RANKS = 3;
const SLOT = 'forward 0 7';

beforeEach(() => tf.engine().startScope());
afterEach(() => tf.engine().endScope());

function scatterOf(rank: number, allGather = (x: tf.Tensor) => x): Scatter {
  const line = { rank, size: RANKS, allGather } as unknown as Collective;
  const kernels = { toNative: (x: tf.Tensor) => x.clone(), fromNative: (x: tf.Tensor) => x };
  return new Scatter({ line, kernels: kernels as unknown as SameValues['kernels'] });
}

/** The messages of a rank, which sends zeros from number `failsAt` on. */
function sentBy(scatter: Scatter, tensors: readonly tf.Tensor[], failsAt = Infinity) {
  const sent: { readonly slot: string; readonly tensor: tf.Tensor }[] = [];
  const sendAsync: Collective['sendAsync'] = (x, _to, { slot } = {}) => {
    sent.push({ slot: slot!, tensor: x.clone() });
    return { isDone: true, wait: () => undefined };
  };
  const pipe = { sendAsync } as Collective;
  tensors.forEach((tensor, i) => {
    const isZeros = i >= failsAt;
    scatter.send({ pipe, to: 1, slot: SLOT }, isZeros ? tf.zeros([1]) : tensor, isZeros);
  });
  return sent;
}

/**
 * The tensors that the first rank of the next stage gets.
 *
 * @param failsAt The message from which on the last rank sends zeros.
 */
function received(tensors: readonly tf.Tensor[], failsAt = Infinity): tf.Tensor[] {
  const ofRanks = Array.from({ length: RANKS }, (_, rank) =>
    sentBy(scatterOf(rank), tensors, rank === RANKS - 1 ? failsAt : Infinity),
  );
  let message = 0;
  const others = () => ofRanks.slice(1).map((sent) => sent[message]!.tensor);
  const partOf = ({ size }: tf.Tensor) => tf.tensor1d([size < 256 ? 0 : Math.ceil(size / RANKS)], 'int32');
  const next = scatterOf(0, (x) =>
    tf.concat([x, ...(message === 0 ? others().map((each) => partOf(each)) : others())]),
  );
  return ofRanks[0]!.map(({ slot, tensor }, i) => {
    message = i;
    expect(next.slotOfNext(SLOT)).toBe(slot);
    return next.join(SLOT, tensor.clone());
  });
}

const floats = (shape: number[], seed: number) => tf.randomUniform(shape, -1, 1, 'float32', seed);
/** Integers that float32 cannot hold. */
const integers = (shape: number[]) =>
  tf
    .range(0, tf.util.sizeFromShape(shape), 1, 'int32')
    .add(tf.scalar(2 ** 30 + 1, 'int32'))
    .reshape(shape);
const sizes = (tensors: readonly tf.Tensor[]) =>
  sentBy(scatterOf(1), tensors).map(({ tensor }) => tensor.size);
const contents = (tensors: readonly tf.Tensor[]) =>
  tensors.map((x) => ({ dtype: x.dtype, shape: x.shape, values: [...x.dataSync()] }));

describe('a value of which each rank sends a part', () => {
  it.each([
    ['a multiple of the ranks', () => [1, 2, 3].map((seed) => floats([4, 5, 15], seed))],
    ['padded', () => [1, 2, 3].map((seed) => floats([7, 41], seed))],
    ['large integers', () => [1, 2].map(() => integers([10, 31]))],
  ])('arrives whole with the same bits: %s', (_, make) => {
    const tensors = make();
    const [whole, ...later] = sizes(tensors);
    expect(whole).toBe(tensors[0]!.size);
    for (const size of later) expect(size).toBe(Math.ceil(whole! / RANKS));
    expect(contents(received(tensors))).toEqual(contents(tensors));
  });

  it.each([
    ['a few elements', () => [1, 2].map((seed) => floats([5, 51], seed))],
    ['booleans', () => [1, 2].map((seed) => floats([20, 20], seed).greater(0))],
  ])('is sent whole: %s', (_, make) => {
    const tensors = make();
    expect(sizes(tensors)).toEqual(tensors.map(({ size }) => size));
    expect(contents(received(tensors))).toEqual(contents(tensors));
  });

  it('goes to the slot of the first one if it has another shape, which refuses it', () => {
    const sent = sentBy(scatterOf(0), [floats([16, 20], 1), floats([20, 16], 2), floats([16, 20], 3)]);
    expect(sent.map(({ slot }) => slot)).toEqual([SLOT, SLOT, `${SLOT}, later`]);
  });
});

describe('a rank that has failed', () => {
  it('sends zeros that the others gather', () => {
    const [first, second] = [floats([10, 30], 1), floats([10, 30], 2)];
    const [whole, gathered] = received([first, second], 1);
    expect(contents([whole!])).toEqual(contents([first]));
    const expected = [...second.dataSync()].map((value, i) => (i < 200 ? value : 0));
    expect(contents([gathered!])[0]).toEqual({ dtype: 'float32', shape: [10, 30], values: expected });
  });

  it('sends zeros of the shape of earlier messages that were sent whole', () => {
    const sent = sentBy(scatterOf(0), [floats([5, 3], 1), floats([5, 3], 2)], 1);
    expect(sent.map(({ tensor }) => tensor.shape)).toEqual([
      [5, 3],
      [5, 3],
    ]);
  });

  it('gathers nothing in the next stage if the shape is unknown', () => {
    const [, later] = received([floats([10, 30], 1), floats([10, 30], 2)], 0);
    expect(later!.shape).toEqual([100]);
  });

  it('sends zeros of the element type of earlier messages', () => {
    const casts: string[] = [];
    const precision = {
      dtypeOf: () => 'bfloat16',
      cast: (x: tf.Tensor, dtype: string) => {
        casts.push(`${dtype}[${x.shape.join()}]`);
        return x.clone();
      },
    };
    const line = { rank: 0, size: RANKS } as Collective;
    const kernels = { toNative: (x: tf.Tensor) => x.clone(), fromNative: (x: tf.Tensor) => x, precision };
    const scatter = new Scatter({ line, kernels: kernels as unknown as SameValues['kernels'] });
    sentBy(scatter, [floats([10, 30], 1), floats([10, 30], 2)], 1);
    expect(casts).toEqual(['bfloat16[100]']);
  });
});
