import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';
import { batchOf, makeModel, weightsOf } from './ranks/small-program.js';

interface Trained {
  readonly backend: string;
  readonly weights: number[][];
  readonly sum: number[];
  readonly reason: string;
  readonly leaked: number;
  readonly uses: Readonly<Record<'toNative' | 'read' | 'fromNative' | 'gelu' | 'dense' | 'apply', number>>;
}

type Optimizers = Readonly<Record<'sgd' | 'adam', Trained>>;

interface Result {
  readonly registered: Optimizers;
  readonly portable: Optimizers;
  /** The native tensors of the backend that were not disposed. */
  readonly kept: number;
}

const STEPS = 4;

beforeAll(() => tf.setBackend('cpu'));

/** The training in plain tfjs, in one process, with all rows. */
function trainPlainly(kind: 'sgd' | 'adam'): number[][] {
  const model = makeModel();
  const optimizer = kind === 'sgd' ? tf.train.sgd(0.1) : tf.train.adam(0.02);
  const gelu = (x: tf.Tensor) => x.mul(x.mul(Math.SQRT1_2).erf().add(1).mul(0.5));
  for (let i = 0; i < STEPS; i++) {
    const { xs, ys } = batchOf(i);
    optimizer.minimize(() => tf.losses.meanSquaredError(ys, gelu(model.apply(xs) as tf.Tensor)) as tf.Scalar);
    tf.dispose([xs, ys]);
  }
  const weights = weightsOf(model);
  model.dispose();
  optimizer.dispose();
  return weights;
}

it.each([1, 2])('on %d ranks a backend with its own kernel layer trains like plain tfjs', async (ranks) => {
  const module = new URL('./ranks/own-layer.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  const results = await onRanks<Result>({ module, ranks, env });
  for (const { registered, portable, kept } of results) {
    expect(kept).toBe(0);
    for (const kind of ['sgd', 'adam'] as const) {
      const expected = trainPlainly(kind);
      for (const { backend, weights, sum, reason, leaked } of [registered[kind], portable[kind]]) {
        expect({ backend, leaked }).toEqual({ backend: 'mine', leaked: 0 });
        expect(sum).toEqual([ranks, 2 * ranks]);
        expect(reason).toContain("'mine' cannot record steps");
        weights.forEach((values, i) => expectClose(values, expected[i]!, { rtol: 1e-5, atol: 1e-6 }));
      }
      expect(portable[kind].uses).toEqual({
        toNative: 0,
        read: 0,
        fromNative: 0,
        gelu: 0,
        dense: 0,
        apply: 0,
      });
      const { toNative, read, fromNative, gelu, dense, apply } = registered[kind].uses;
      expect({ gelu, dense, apply }).toEqual({
        gelu: STEPS,
        dense: 2 * STEPS,
        apply: kind === 'sgd' ? STEPS : 0,
      });
      // One rank sends nothing. Several ranks send the values that this backend returns.
      expect(read).toBe(toNative);
      if (ranks === 1) expect(toNative).toBe(0);
      else expect(Math.min(toNative, fromNative)).toBeGreaterThanOrEqual(STEPS);
    }
  }
});
