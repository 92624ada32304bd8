import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { expectLikeReference, type ReferenceUpdate } from './testing/optimizer-reference.js';
import { adafactor, type AdafactorOptions } from './adafactor.js';

const meanOf = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0) / values.length;
const rms = (values: readonly number[]) => Math.sqrt(meanOf(values.map((x) => x * x)));

/**
 * √v of every element, matrix by matrix, for a variable whose last two dims are `[rows, columns]`.
 */
function factoredRoots(
  squares: readonly number[],
  [rows, columns]: readonly [number, number],
  r: number[],
  c: number[],
  b2: number,
): number[] {
  const matrices = squares.length / (rows * columns);
  const roots: number[] = [];
  for (let k = 0; k < matrices; k++) {
    const at = (i: number, j: number) => squares[(k * rows + i) * columns + j]!;
    const range = (length: number) => Array.from({ length }, (_, i) => i);
    for (const i of range(rows)) {
      r[k * rows + i] = b2 * r[k * rows + i]! + (1 - b2) * meanOf(range(columns).map((j) => at(i, j)));
    }
    for (const j of range(columns)) {
      c[k * columns + j] = b2 * c[k * columns + j]! + (1 - b2) * meanOf(range(rows).map((i) => at(i, j)));
    }
    const total = meanOf(r.slice(k * rows, (k + 1) * rows));
    for (const i of range(rows)) {
      for (const j of range(columns)) {
        roots.push(Math.sqrt((r[k * rows + i]! * c[k * columns + j]!) / total));
      }
    }
  }
  return roots;
}

const formula =
  (o: Required<Omit<AdafactorOptions, 'excludeFromWeightDecay'>>): ReferenceUpdate =>
  ({ shape, w, state }, g, t) => {
    const b2 = 1 - t ** -o.decayExponent;
    const rho = o.relativeStep ? Math.min(o.learningRate, 1 / Math.sqrt(t)) : o.learningRate;
    const squares = g.map((x) => x * x + o.epsilon1);
    let roots: number[];
    if (shape.length < 2) {
      const v = state('v');
      squares.forEach((x, i) => (v[i] = b2 * v[i]! + (1 - b2) * x));
      roots = v.map(Math.sqrt);
    } else {
      const [rows, columns] = shape.slice(-2) as [number, number];
      const [r, c] = [state('r', w.length / columns), state('c', w.length / rows)];
      roots = factoredRoots(squares, [rows, columns], r, c, b2);
    }
    const u = g.map((x, i) => x / roots[i]!);
    const clip = Math.max(1, rms(u) / o.clipThreshold);
    const alpha = rho * (o.scaleParameter ? Math.max(o.epsilon2, rms(w)) : 1);
    const m = state('m');
    u.forEach((x, i) => {
      m[i] = o.beta1 * m[i]! + (1 - o.beta1) * ((alpha * x) / clip);
      w[i] = w[i]! * (1 - rho * o.weightDecay) - m[i];
    });
  };

const DEFAULTS = {
  learningRate: 0.01,
  relativeStep: true,
  scaleParameter: true,
  beta1: 0,
  decayExponent: 0.8,
  clipThreshold: 1,
  epsilon1: 1e-30,
  epsilon2: 0.001,
  weightDecay: 0,
};

describe('adafactor', () => {
  it('follows its formula with its defaults', () =>
    expectLikeReference(() => adafactor(), formula(DEFAULTS)));

  it.each<AdafactorOptions>([
    { learningRate: 1 },
    { learningRate: 0.05, beta1: 0.9, weightDecay: 0.1 },
    { relativeStep: false, scaleParameter: false, clipThreshold: 0.5, decayExponent: 0.5 },
    { learningRate: 1, epsilon1: 0.01, epsilon2: 2 },
  ])('follows its formula with %o', (options) =>
    expectLikeReference(() => adafactor(options), formula({ ...DEFAULTS, ...options })),
  );

  it('stores a row and a column for a matrix', async () => {
    await tf.setBackend('acc');
    const w = tf.variable(tf.ones([3, 40, 50]));
    const optimizer = adafactor();
    optimizer.applyGradients({ [w.name]: tf.ones([3, 40, 50]) });
    const [, ...state] = await optimizer.getWeights();
    expect(state.map(({ name, tensor }) => [name, tensor.shape])).toEqual([
      [`${w.name}/r`, [3, 40]],
      [`${w.name}/c`, [3, 50]],
    ]);
  });
});
