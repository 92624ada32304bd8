import * as tf from '@tensorflow/tfjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CompileOptions } from '@acc/compile';
import { dropout } from '@acc/kernels';
import { memoryStats, numThreads, setNumThreads, setSeed } from '@acc/native';
import { Accelerator } from '../accelerator.js';
import { relativeDifference } from './testing.js';

// Compiled steps on batches of several sizes.

let accelerator: Accelerator;
const threads = numThreads();
beforeAll(() => {
  setNumThreads(1);
  // Measured choices may differ between batches of different sizes, which then share no recording.
  const gradients = 'convolutionInputGradient=channelsLast,convolutionWeightGradient=channelsLast';
  vi.stubEnv('ACC_KERNELS_TUNE', `matmul=blas,convolution=channelsLast,${gradients}`);
});
afterAll(() => {
  setNumThreads(threads);
  vi.unstubAllEnvs();
});
beforeEach(async () => {
  accelerator = await Accelerator.create({ engine: 'acc', gradientClipping: { norm: 0.5 } });
});
afterEach(() => {
  accelerator.freeMemory();
  tf.disposeVariables();
  vi.restoreAllMocks();
});

// tfjs takes a seed of 0 for none.
const random = (shape: number[], seed: number) => tf.randomNormal(shape, 0, 0.5, 'float32', seed + 1);
const matrix = (rows: number, columns: number, seed: number) =>
  tf.variable(random([rows, columns], seed)) as tf.Tensor as tf.Variable<tf.Rank.R2>;

interface Model {
  readonly variables: tf.Variable[];
  readonly loss: (x: tf.Tensor) => tf.Scalar;
}

/** A layer norm, dropout, a GELU and a mean by the number of rows, in plain operators. */
function mlp(): Model {
  const [inner, outer, gain] = [matrix(6, 8, 1), matrix(8, 6, 2), tf.variable(tf.ones([8]))];
  return {
    variables: [inner, outer, gain] as tf.Variable[],
    loss(x) {
      const h = tf.matMul(x as tf.Tensor2D, inner);
      const { mean, variance } = tf.moments(h, -1, true);
      const normalized = dropout(h.sub(mean).div(variance.add(1e-5).sqrt()).mul(gain), 0.25);
      const active = normalized.mul(normalized.mul(1.702).sigmoid()) as tf.Tensor2D;
      const error = tf.matMul(active, outer).sub(x).square();
      return error
        .sum()
        .mul(1 / x.shape[0]!)
        .asScalar();
    },
  };
}

/**
 * Attention with a causal mask made of numbers, on batches [rows, tokens, 8].
 *
 * @param hasPlaces Whether numbers in which all elements depend on the count of tokens are added.
 */
function attention(hasPlaces = false): Model {
  const [q, k, v] = [matrix(8, 8, 3), matrix(8, 8, 4), matrix(8, 8, 5)];
  return {
    variables: [q, k, v] as tf.Tensor[] as tf.Variable[],
    loss(x) {
      const [rows, tokens] = x.shape as [number, number];
      const places = tf.tensor2d(Array.from({ length: tokens }, (_, i) => [(i + 1) / tokens]));
      const flat = (hasPlaces ? x.add(places) : x).reshape([rows * tokens, 8]) as tf.Tensor2D;
      const heads = (weight: tf.Variable<tf.Rank.R2>) =>
        tf.matMul(flat, weight).reshape([rows, tokens, 2, 4]).transpose([0, 2, 1, 3]) as tf.Tensor4D;
      const mask = tf.tensor2d(
        Array.from({ length: tokens }, (_, i) =>
          Array.from({ length: tokens }, (_, j) => (j > i ? -1e9 : 0)),
        ),
      );
      const scores = tf.matMul(heads(q), heads(k), false, true).mul(0.5).add(mask);
      const mixed = dropout(tf.matMul(tf.softmax(scores), heads(v)), 0.1)
        .transpose([0, 2, 1, 3])
        .reshape([rows, tokens, 8]);
      // The next token is the target.
      const error = mixed
        .slice([0, 0, 0], [-1, tokens - 1, -1])
        .sub(x.slice([0, 1, 0], [-1, tokens - 1, -1]));
      return error.square().mean().asScalar();
    },
  };
}

interface Trained {
  readonly values: number[];
  readonly replays: number | undefined;
  readonly reason: string | undefined;
  readonly explanation: string | undefined;
}

/** Trains with Adam on batches of `shapes`, one after the other. */
function train(makeModel: () => Model, shapes: number[][], options?: CompileOptions): Trained {
  setSeed(5);
  const { variables, loss } = makeModel();
  const [, optimizer] = accelerator.prepare(variables, tf.train.adam(0.01));
  const plain = (x: tf.Tensor) => optimizer.minimize(() => loss(x), true)!;
  const compiled = options && accelerator.compile(plain, options);
  const losses = shapes.map((shape, i) => {
    const x = random(shape, i);
    const value = (compiled ?? plain)(x);
    const [number] = value.dataSync();
    tf.dispose([x, value]);
    return number!;
  });
  const values = [...losses, ...variables.flatMap((variable) => [...variable.dataSync()])];
  const trained = {
    values,
    replays: compiled?.replays,
    reason: compiled?.reason,
    explanation: compiled?.explain(),
  };
  compiled?.dispose();
  tf.dispose(variables);
  return trained;
}

/** Epochs of batches of 4, 7 and 8 rows, of which the last has 3. */
const ROWS = Array.from({ length: 4 }, () => [4, 4, 7, 8, 3]).flat();
const BATCHES = ROWS.map((rows) => [rows, 6]);
/** Batches of sequences of 5, 9 and 12 tokens. */
const SEQUENCES = ROWS.map((rows, i) => [rows, [5, 5, 9, 5, 12][i % 5]!, 8]);

// The first call of all runs plainly. Then one is recorded for each size. Where numbers do not follow
// from the sizes, a second one is.
describe.each([
  ['an MLP', mlp, BATCHES, 20 - 1 - 4],
  ['attention', attention, SEQUENCES, 20 - 1 - 4],
  ['attention with places', () => attention(true), SEQUENCES, 20 - 1 - 4 - 4],
] as const)('%s on batches of several sizes', (_, model, shapes, replays) => {
  it("equals plain steps bit for bit, without fusion, with 'plain' and with 'exact'", () => {
    const plain = train(model, shapes as number[][]);
    for (const fuse of [false, 'plain', 'exact'] as const) {
      const compiled = train(model, shapes as number[][], { fuse });
      expect(compiled.reason).toBeUndefined();
      expect(compiled.values).toEqual(plain.values);
      expect(compiled.replays).toBe(replays);
      expect(compiled.explanation).toContain('one recording for 4 sizes');
    }
    expect(new Set(plain.values).size).toBeGreaterThan(20);
  });

  it('differs by rounding with fusion', () => {
    const plain = train(model, shapes as number[][]);
    const fused = train(model, shapes as number[][], { fuse: true });
    expect(fused.replays).toBe(replays);
    expect(relativeDifference(fused.values, plain.values)).toBeLessThan(1e-6);
  });
});

const sumOf = (x: tf.Tensor) => x.sum().dataSync()[0]!;
/** Calls a step with rows of ones, as often as it takes until it is replayed. */
function settle(step: (x: tf.Tensor) => tf.Tensor, ...sizes: number[]): number[] {
  return sizes.flatMap((size) =>
    Array.from({ length: 5 }, () => tf.tidy(() => sumOf(step(tf.ones([size, 3]))))),
  );
}
const five = (value: number) => Array.from({ length: 5 }, () => value);

it('names the dims that vary, and gives those that vary together one letter', () => {
  const step = accelerator.compile((x: tf.Tensor, y: tf.Tensor) => x.matMul(y).add(1));
  for (const [rows, columns] of [
    [2, 5],
    [2, 5],
    [2, 5],
    [4, 5],
    [3, 6],
  ] as const) {
    tf.dispose(step(tf.ones([rows, 3]), tf.ones([3, columns])));
  }
  expect(step.explain()).toMatch(
    /^Arguments \[float32\[s0,3\],float32\[3,s1\]\], one recording for 3 sizes: s0 = 2, 4, 3; s1 = 5, 5, 6\n/,
  );
});

describe('a step that chooses by its size', () => {
  it('is right for every size', () => {
    const step = accelerator.compile((x: tf.Tensor) => (x.shape[0]! > 4 ? x.mul(2) : x.add(10)));
    expect(settle(step, 2, 8, 3, 6, 4, 5)).toEqual(
      [2 * 33, 8 * 6, 3 * 33, 6 * 6, 4 * 33, 5 * 6].flatMap(five),
    );
    // One plain call, two recorded ones for each way, and one for each further size.
    expect(step.replays).toBe(30 - 1 - 2 * 2 - 4);
    expect(step.explain().match(/one recording for 3 sizes/g)).toHaveLength(2);
  });

  it('is right where only a number depends on the choice', () => {
    const step = accelerator.compile((x: tf.Tensor) => x.mul(x.shape[0]! > 4 ? 5 : 0.7));
    const expected = [0.7 * 6, 5 * 24, 0.7 * 9, 5 * 18].flatMap(five);
    settle(step, 2, 8, 3, 6).forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 4));
    expect(step.explain()).toContain('one recording for 4 sizes');
    expect(step.replays).toBe(20 - 3 - 2 - 1 - 2);
  });

  it('is right for one row and for none, which are broadcast', () => {
    const bias = tf.variable(tf.tensor2d([[1, 2, 3]]));
    const step = accelerator.compile((x: tf.Tensor) => {
      if (x.size === 0) return x.add(bias).sum();
      const { value, grads } = tf.variableGrads(() => x.mul(bias).sum() as tf.Scalar, [bias]);
      return Object.values(grads)[0]!.sum().add(value);
    });
    expect(settle(step, 4, 1, 0, 7)).toEqual([36, 9, 0, 63].flatMap(five));
    expect(step.reason).toBeUndefined();
  });
});

it('a convnet on large and small batches has one recording, fused or not', () => {
  const train = (fuse?: CompileOptions['fuse']) => {
    const model = tf.sequential({
      layers: [
        tf.layers.conv2d({ filters: 8, kernelSize: 3, padding: 'same', inputShape: [16, 16, 3] }),
        tf.layers.batchNormalization(),
        tf.layers.reLU(),
        tf.layers.maxPooling2d({ poolSize: 2 }),
        tf.layers.flatten(),
        tf.layers.dense({ units: 3 }),
      ],
    });
    for (const [i, weight] of model.weights.entries()) {
      if (weight.shape.length > 1) weight.write(random(weight.shape as number[], i));
    }
    const [, optimizer] = accelerator.prepare(model, tf.train.adam(0.01));
    const loss = (x: tf.Tensor) =>
      (model.apply(x, { training: true }) as tf.Tensor).square().mean() as tf.Scalar;
    const plain = (x: tf.Tensor) => optimizer.minimize(() => loss(x), true)!;
    const compiled = fuse === undefined ? undefined : accelerator.compile(plain, { fuse });
    const losses = [16, 16, 16, 2, 2, 2, 5, 5, 5].map(
      (rows, i) => (compiled ?? plain)(random([rows, 16, 16, 3], i)).dataSync()[0],
    );
    return { losses, replays: compiled?.replays, explanation: compiled?.explain() };
  };
  const { losses } = train();
  for (const fuse of [false, 'plain', 'exact'] as const) {
    const compiled = train(fuse);
    expect(compiled.losses).toEqual(losses);
    // Batch norm multiplies by n / (n - 1), which is no constant times a count n.
    expect(compiled.replays).toBe(2);
    expect(compiled.explanation).toContain('one recording for 3 sizes: s0 = 16, 2, 5');
  }
});

it('means by the number of rows are right, as numbers and as tensors', () => {
  const step = accelerator.compile((x: tf.Tensor) =>
    x
      .sum()
      .mul(1 / x.shape[0]!)
      .add(tf.scalar(x.shape[0]!))
      .add(x.mean())
      .div(tf.scalar(x.size)),
  );
  const expected = (rows: number) => Math.fround((3 + rows + 1) / (3 * rows));
  for (const rows of [4, 7, 8, 3]) {
    for (const value of settle(step, rows)) expect(value).toBeCloseTo(expected(rows), 6);
  }
  expect(step.replays).toBe(20 - 3 - 3);
});

it('a number that changes from run to run is noticed, beside a recording for another size', () => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  let count = 0;
  const step = accelerator.compile((x: tf.Tensor) =>
    x.mul(x.shape[0] === 2 ? 100 : tf.scalar(count++ * 1.7 + 3)),
  );
  settle(step, 2);
  const values = settle(step, 3, 3);
  expect(new Set(values).size).toBe(10);
  expect(step.reason).toMatch(/change/);
});

it('plain values of the result belong to their size', () => {
  const step = accelerator.compile((x: tf.Tensor) => [x.sum(), x.shape[0]!, x] as const);
  for (const rows of [2, 2, 2, 2, 5, 5, 5, 3, 3, 3, 2]) {
    const x = tf.ones([rows, 3]);
    const [sum, count, same] = step(x);
    expect([sum.dataSync()[0], count, same]).toEqual([3 * rows, rows, x]);
    tf.dispose([x, sum]);
  }
  expect(step.replays).toBe(4);
});

it('forgets the sizes that were not used for longest, and needs little memory for each', () => {
  const table = tf.variable(random([400, 3], 1));
  const step = accelerator.compile((x: tf.Tensor) => x.add(table.slice([0, 0], [x.shape[0]!, -1])).sum());
  settle(step, 400);
  const sizes = Array.from({ length: 300 }, (_, i) => i + 2);
  const call = (size: number) => tf.tidy(() => sumOf(step(tf.ones([size, 3]))));
  const bytes = memoryStats().allocatedBytes;
  const first = sizes.map(call);
  expect(memoryStats().allocatedBytes).toBe(bytes);
  const before = step.replays;
  expect(sizes.slice(-200).map(call)).toEqual(first.slice(-200));
  expect(step.replays).toBe(before + 200);
  // They were forgotten, and are confirmed again.
  expect(sizes.slice(0, 20).map(call)).toEqual(first.slice(0, 20));
  expect(step.replays).toBe(before + 200);
  expect(step.reason).toBeUndefined();
});

it('sizes are recorded again when a tensor is replaced that the step uses', () => {
  let offset = tf.scalar(1);
  const step = accelerator.compile((x: tf.Tensor) => x.add(offset));
  expect(settle(step, 2, 5)).toEqual([12, 30].flatMap(five));
  offset.dispose();
  offset = tf.scalar(2);
  expect(settle(step, 2, 5, 3)).toEqual([18, 45, 27].flatMap(five));
  expect(step.reason).toBeUndefined();
  expect(step.explain()).toContain('one recording for 3 sizes');
});

it('more than eight recordings are refused, but not further sizes of those that there are', () => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  // Chains of as many operators as there are columns.
  const step = accelerator.compile((x: tf.Tensor) => {
    let y = x;
    for (let i = 0; i < x.shape[1]!; i++) y = y.add(1);
    return y.sum();
  });
  const call = (rows: number, columns: number) => tf.tidy(() => sumOf(step(tf.zeros([rows, columns]))));
  for (let columns = 1; columns <= 8; columns++) {
    for (let i = 0; i < 4; i++) expect(call(2, columns)).toBe(2 * columns * columns);
  }
  expect(step.reason).toBeUndefined();
  for (let i = 0; i < 3; i++) expect(call(2, 9)).toBe(2 * 81);
  expect(step.reason).toMatch(/more than 8 combinations/);
  const before = step.replays;
  for (let i = 0; i < 3; i++) expect(call(5, 7)).toBe(5 * 49);
  expect(step.replays).toBe(before + 2);
});

it('a step that its own optimizer calls again, with another size, runs that without replay', () => {
  function run(isCompiled: boolean) {
    const w = tf.variable(tf.scalar(1));
    const inner = tf.train.sgd(0.1);
    const apply = inner.applyGradients.bind(inner);
    let depth = 0;
    inner.applyGradients = (gradients) => {
      if (depth++ === 0) tf.dispose(step(tf.ones([5])));
      depth--;
      apply(gradients);
    };
    const [, optimizer] = accelerator.prepare([w], inner);
    const plain = (x: tf.Tensor) => optimizer.minimize(() => w.mul(x).square().mean() as tf.Scalar, true)!;
    const compiled = accelerator.compile(plain);
    const step = isCompiled ? compiled : plain;
    const values = [2, 2, 2, 2, 2, 3, 3].map((size) => tf.tidy(() => step(tf.ones([size])).dataSync()[0]));
    return { values, replays: compiled.replays };
  }
  const { values, replays } = run(true);
  expect(values).toEqual(run(false).values);
  expect(replays).toBe(3);
});
