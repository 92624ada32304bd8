import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { KernelLayer } from '@acc/contract';
import { dropout, kernelLayerOf, registerAccBackend } from '@acc/kernels';
import { expectClose } from '@acc/testkit';
import { Deterministic } from './deterministic.js';
import { LINEAR_RULES, RULES } from '@acc/sharding-rules';
import { CASES, LOSSES, ROWS, rowsInputs, wholeInputs, type Rows, type Whole } from './testing/cases.js';

const SHARDS = 4;
const BACKENDS = ['acc', 'cpu'];

let deterministic: Deterministic | undefined;
const layers: Record<string, KernelLayer> = {};
const used: Record<string, Set<string>> = { acc: new Set(), cpu: new Set() };

beforeAll(async () => {
  registerAccBackend();
  for (const name of BACKENDS) {
    await tf.setBackend(name);
    layers[name] = kernelLayerOf(name, tf.backend());
  }
});

afterEach(() => {
  deterministic?.end();
  deterministic = undefined;
});

/** The results of `compute` for rows in shards, a list of values for each. */
async function byShards(
  backend: string,
  compute: (rows: Rows, full: Whole) => tf.Tensor[],
): Promise<number[][]> {
  await tf.setBackend(backend);
  deterministic = new Deterministic(
    { virtualShards: SHARDS },
    { kernels: layers[backend]!, rank: 0, size: 1, seed: 1 },
  );
  const [rows, whole] = [rowsInputs(), wholeInputs()];
  deterministic.beginBatch({ rows: [ROWS], realRows: [ROWS] }, Object.values(rows) as tf.Tensor[]);
  const before = tf.memory().numTensors;
  let results: tf.Tensor[] = [];
  const { kernelNames } = await tf.profile(() => {
    // As in a backward pass what has no way by shards is an error.
    const strictly = () => deterministic!.plugin.backward!(() => compute(rows, whole));
    results = tf.tidy(strictly);
    return results;
  });
  for (const name of kernelNames) used[backend]!.add(name);
  const values = results.map((x) => valuesOf(x));
  tf.dispose(results);
  expect(tf.memory().numTensors).toBe(before);
  tf.dispose([rows, whole] as unknown as tf.TensorContainer);
  deterministic.end();
  deterministic = undefined;
  return values;
}

/** The same with whole tensors: of all rows, or of one shard's. */
async function plainly(
  backend: string,
  compute: (rows: Rows, full: Whole) => tf.Tensor[],
  shard?: number,
): Promise<number[][]> {
  await tf.setBackend(backend);
  const { restore } = layers[backend]!.fixResults!();
  const values = tf.tidy(() => {
    const all = rowsInputs();
    const count = ROWS / SHARDS;
    const local = Object.entries(all).map(([name, x]) => [
      name,
      shard === undefined ? x : tf.clone((x as tf.Tensor).slice(shard * count, count)),
    ]);
    return compute(Object.fromEntries(local) as Rows, wholeInputs()).map((x) => valuesOf(x));
  });
  restore();
  return values;
}

const valuesOf = (x: tf.Tensor): number[] => Array.from(x.dataSync());

/** The shards' results together: rows one below the other, or a sum in pairs. */
function joined(shards: readonly number[][], length: number): number[] {
  if (shards[0]!.length < length) return shards.flat();
  let level = shards.map((values) => Float32Array.from(values));
  while (level.length > 1) {
    level = Array.from({ length: level.length / 2 }, (_, i) =>
      level[2 * i]!.map((x, j) => x + level[2 * i + 1]![j]!),
    );
  }
  return Array.from(level[0]!);
}

describe.each(BACKENDS)('on the backend %s', (backend) => {
  it.each(Object.entries(CASES))(
    '%s: the joined pieces equal the result for the whole batch',
    async (_, compute) => {
      const list = (rows: Rows, full: Whole) => [compute(rows, full)].flat();
      const sharded = await byShards(backend, list);
      const whole = await plainly(backend, list);
      expect(sharded.length).toBe(whole.length);
      sharded.forEach((values, i) => expectClose(values, whole[i]!, { rtol: 1e-4, atol: 1e-5 }));
    },
  );

  it.each(Object.entries(LOSSES))(
    '%s: gradients equal those of the whole batch, or sums over the pieces',
    async (_, loss) => {
      const gradients = (rows: Rows, full: Whole) => {
        const { a, images, heads, volumes, tokens, labels, b } = rows;
        const names = Object.keys(full) as (keyof Whole)[];
        const ofAll = tf.valueAndGrads((...xs) => {
          const given = Object.fromEntries(names.map((name, i) => [name, xs[i + 4]!])) as unknown as Whole;
          const [x, y, z, v] = xs as [tf.Tensor2D, tf.Tensor4D, tf.Tensor4D, tf.Tensor5D];
          // What a loss does not use has a gradient of zeros.
          const unused = tf.addN(xs.map((tensor) => tensor.mul(0).sum()));
          return loss({ a: x, b, images: y, heads: z, volumes: v, tokens, labels }, given)
            .asScalar()
            .add(unused);
        });
        const { value, grads } = ofAll([a, images, heads, volumes, ...names.map((name) => full[name])]);
        return [value, ...grads];
      };
      const sharded = await byShards(backend, gradients);
      const whole = await plainly(backend, gradients);
      sharded.forEach((values, i) => expectClose(values, whole[i]!, { rtol: 1e-4, atol: 1e-4 }));
      const shards: number[][][] = [];
      for (let shard = 0; shard < SHARDS; shard++) shards.push(await plainly(backend, gradients, shard));
      sharded.forEach((values, i) => {
        expect(values).toEqual(
          joined(
            shards.map((shard) => shard[i]!),
            values.length,
          ),
        );
      });
    },
  );
});

describe.each(BACKENDS)('recurrent layers on the backend %s', (backend) => {
  const seeds = {
    kernelInitializer: tf.initializers.glorotNormal({ seed: 1 }),
    recurrentInitializer: tf.initializers.glorotNormal({ seed: 2 }),
  };
  const options = { units: 3, ...seeds };

  it.each(['lstm', 'gru', 'simpleRNN'] as const)(
    '%s: results and gradients are those of each piece',
    async (kind) => {
      await tf.setBackend(backend);
      const layer = tf.layers[kind]({ ...options, returnSequences: true });
      tf.dispose(layer.apply(tf.zeros([2, 6, 8])) as tf.Tensor);
      layers[backend]!.fuseLayers?.([layer]);
      const compute = ({ heads }: Rows) => {
        const sequence = heads.reshape([-1, 6, 8]);
        const run = (x: tf.Tensor) => layer.apply(x, { training: true }) as tf.Tensor;
        const { grads } = tf.variableGrads(() => run(sequence).square().sum().asScalar());
        return [run(sequence), tf.grad((x) => run(x).square().sum())(sequence), ...Object.values(grads)];
      };
      const sharded = await byShards(backend, compute);
      const shards: number[][][] = [];
      for (let shard = 0; shard < SHARDS; shard++) shards.push(await plainly(backend, compute, shard));
      sharded.forEach((values, i) =>
        expect(values).toEqual(
          joined(
            shards.map((shard) => shard[i]!),
            values.length,
          ),
        ),
      );
      layer.dispose();
    },
  );
});

describe('on the backend acc only', () => {
  it('16-bit tensors can lie in pieces', async () => {
    const { cast } = layers['acc']!.precision!;
    const compute = ({ a }: Rows, { weight }: Whole) => {
      const product = cast(a, 'bfloat16').matMul(cast(weight, 'bfloat16') as tf.Tensor2D);
      return [cast(product, 'float32'), cast(cast(a, 'bfloat16').sum(0), 'float32')];
    };
    const sharded = await byShards('acc', compute);
    const full = await plainly('acc', compute);
    sharded.forEach((values, i) => expectClose(values, full[i]!, { rtol: 0.02, atol: 0.02 }));
  });

  it('dropout draws for each piece, and its gradient uses the same mask', async () => {
    const compute = ({ a }: Rows, { vector }: Whole) => {
      const { value, grads } = tf.valueAndGrads((x, y) => dropout(x!.mul(y!), 0.5).sum())([a, vector]);
      return [value, ...grads, dropout(tf.ones(a.shape), 0.5), dropout(tf.ones([5, 8]), 0.5)];
    };
    const [, , , drawn] = await byShards('acc', compute);
    const ofShards = Array.from({ length: SHARDS }, (_, shard) =>
      drawn!.slice(shard * 12, (shard + 1) * 12).join(),
    );
    expect(new Set(ofShards).size).toBe(SHARDS);
    expect(await byShards('acc', compute)).toEqual(await byShards('acc', compute));
  });
});

describe.each(BACKENDS)('sums over rows on the backend %s', (backend) => {
  it('pass through linear kernels', async () => {
    const compute = ({ a }: Rows, { weight, vector, table }: Whole) => {
      const sum = a.sum(0);
      const mean = a.transpose().matMul(a.square()).div(2);
      const [first, second] = tf.split(sum, 2);
      return [
        sum.add(vector).sub(a.mean(0)).neg().mul(vector).div(vector),
        tf.addN([sum, vector, a.mean(0)]),
        tf.stack([sum, vector]).concat(mean).sum(0).mean(),
        mean.matMul(weight).transpose().slice([1, 0], [2, 3]).cumsum(1).reverse(0),
        weight.matMul(mean, true),
        tf.einsum('ij,jk->ik', mean, weight),
        tf
          .where(vector.greater(0), sum, tf.zerosLike(sum))
          .tile([2])
          .pad([[1, 2]]),
        ...tf.unstack(mean),
        first!.add(second!).add(tf.onesLike(first!)),
        mean.gather(tf.tensor1d([2, 0, 2], 'int32')),
        tf.unsortedSegmentSum(mean, tf.tensor1d([0, 1, 0, 1, 0, 1], 'int32'), 2),
        a.greater(0).sum(0).toFloat().add(1),
        table.add(sum.slice(0, 4)),
      ];
    };
    const sharded = await byShards(backend, compute);
    const full = await plainly(backend, compute);
    sharded.forEach((values, i) => expectClose(values, full[i]!, { rtol: 1e-4, atol: 1e-4 }));
  });
});

describe('rules', () => {
  it('are all tested', () => {
    const tried = new Set([...used['acc']!, ...used['cpu']!]);
    const untried = [...RULES.keys(), ...LINEAR_RULES.keys()].filter((name) => !tried.has(name));
    expect(untried).toEqual([]);
    expect(RULES.size).toBeGreaterThan(120);
  });
});
