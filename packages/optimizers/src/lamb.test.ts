import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { registerAccBackend, withShards, type ShardedUpdate, type SumSquares } from '@acc/kernels';
import { expectLikeReference, type ReferenceUpdate } from './testing/optimizer-reference.js';
import { lamb } from './lamb.js';

interface Constants {
  readonly lr: number;
  readonly b1: number;
  readonly b2: number;
  readonly eps: number;
  readonly decayOf: (name: string) => number;
  readonly isAdapted: (name: string) => boolean;
}

const normOf = (values: readonly number[]) => Math.hypot(...values);

const formula =
  ({ lr, b1, b2, eps, decayOf, isAdapted }: Constants): ReferenceUpdate =>
  ({ name, w, state }, g, t) => {
    const [m, v] = [state('m'), state('v')];
    const u = g.map((x, i) => {
      m[i] = b1 * m[i]! + (1 - b1) * x;
      v[i] = b2 * v[i]! + (1 - b2) * x * x;
      return m[i] / (1 - b1 ** t) / (Math.sqrt(v[i] / (1 - b2 ** t)) + eps) + decayOf(name) * w[i]!;
    });
    const [weightNorm, directionNorm] = [normOf(w), normOf(u)];
    const ratio = isAdapted(name) && weightNorm > 0 && directionNorm > 0 ? weightNorm / directionNorm : 1;
    u.forEach((x, i) => (w[i] = w[i]! - lr * ratio * x));
  };

describe('lamb', () => {
  it('follows its formula with its defaults', () =>
    expectLikeReference(
      () => lamb(),
      formula({ lr: 0.001, b1: 0.9, b2: 0.999, eps: 1e-6, decayOf: () => 0.01, isAdapted: () => true }),
    ));

  it('follows its formula with options, for variables that do not decay or are not adapted', () =>
    expectLikeReference(
      () =>
        lamb({
          learningRate: 0.02,
          beta1: 0.8,
          beta2: 0.9,
          epsilon: 1e-3,
          weightDecay: 0.2,
          excludeFromWeightDecay: ['/[01]$'],
          excludeFromLayerAdaptation: ['/[12]$'],
        }),
      formula({
        lr: 0.02,
        b1: 0.8,
        b2: 0.9,
        eps: 1e-3,
        decayOf: (name) => (/[01]$/.test(name) ? 0 : 0.2),
        isAdapted: (name) => !/[12]$/.test(name),
      }),
    ));

  it.each(['acc', 'cpu'])('uses a ratio of 1 if a norm is 0, on %s', async (backend) => {
    registerAccBackend();
    await tf.setBackend(backend);
    const [zero, still] = [tf.variable(tf.zeros([2])), tf.variable(tf.ones([2]))];
    lamb({ learningRate: 0.1, weightDecay: 0, epsilon: 0.001 }).applyGradients([
      { name: zero.name, tensor: tf.ones([2]) },
      { name: still.name, tensor: tf.zeros([2]) },
    ]);
    zero.dataSync().forEach((x) => expect(x).toBeCloseTo(-0.1 / 1.001, 5));
    expect([...still.dataSync()]).toEqual([1, 1]);
  });

  it.each(['acc', 'cpu'])(
    'takes the norms of whole weights where ranks have shards, on %s',
    async (backend) => {
      registerAccBackend();
      await tf.setBackend(backend);
      const asked: string[][] = [];
      /** The squares of the weights over all ranks are four times those of this rank. */
      const sumSquares: SumSquares = (squares, names) => {
        asked.push(names.map((name) => name.split('/').at(-1)!));
        return squares.mul([[4], [1]]);
      };
      const sharding: ShardedUpdate = { sumSquares, shardOf: () => undefined, sum: (own) => own.clone() };
      const stepOf = (learningRate: number, isSharded: boolean) => {
        const shapes = { w: [2, 3], b: [4], alone: [2], empty: [0] };
        const weights = Object.entries(shapes).map(([name, shape]) =>
          tf.variable(tf.ones(shape).mul(3), true, `${backend}/${learningRate}/${isSharded}/${name}`),
        );
        const optimizer = lamb({ learningRate, excludeFromLayerAdaptation: ['/alone$'] });
        const gradients = weights.map(({ name, shape }) => ({ name, tensor: tf.ones(shape) }));
        if (isSharded) withShards(sharding, () => optimizer.applyGradients(gradients));
        else optimizer.applyGradients(gradients);
        return weights.map((weight) => [...weight.dataSync()]);
      };
      const sharded = stepOf(0.01, true);
      // Norms that are twice as large double the steps of the weights that are adapted.
      const [w, b] = stepOf(0.02, false);
      const [, , alone] = stepOf(0.01, false);
      const expected = [...w!, ...b!, ...alone!];
      sharded.flat().forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 6));
      expect(sharded.flat().length).toBe(expected.length);
      expect(asked.map((names) => names.filter((name) => name !== 'alone'))).toEqual([['w', 'b']]);
    },
  );
});
