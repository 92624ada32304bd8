import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ListMath } from '@acc/contract';
import { liveTensors, observeCalls } from '@acc/native';
import { expectClose } from '@acc/testkit';
import { kernelLayerOf } from '../kernel-layer.js';
import { registerAccBackend } from '../register-backend.js';
import { chosenCandidates, kernelChoices, useCandidates } from '../tuning/tuning.js';

const values = (list: readonly tf.Tensor[]) => list.map((x) => [...x.dataSync()]);

describe.each(['acc', 'cpu'])('lists on %s', (name) => {
  let lists: ListMath;
  beforeEach(async () => {
    registerAccBackend();
    await tf.setBackend(name);
    ({ lists } = kernelLayerOf(name, tf.backend()));
    tf.engine().startScope();
  });
  afterEach(() => tf.engine().endScope());

  const list = () => [tf.tensor1d([3, -4]), tf.tensor2d([[12]]), tf.scalar(0), tf.zeros([0])];

  it('are added, scaled and clamped', () => {
    expect(values(lists.add(list(), list(), 0.5))).toEqual([[4.5, -6], [18], [0], []]);
    expect(values(lists.scale(list(), 2))).toEqual([[6, -8], [24], [0], []]);
    expect(values(lists.scale(list(), tf.scalar(-1)))).toEqual([[-3, 4], [-12], [-0], []]);
    expect(values(lists.clamp(list(), -1, 5))).toEqual([[3, -1], [5], [0], []]);
  });

  it('are unscaled and checked for values that are not finite', () => {
    const good = lists.unscale(list(), 0.5);
    expect([values(good.list), good.isFinite]).toEqual([[[1.5, -2], [6], [0], []], true]);
    for (const bad of [NaN, Infinity, -Infinity]) {
      const mixed = [tf.tensor1d([1, bad, 2]), tf.ones([2])];
      expect(lists.unscale(mixed, 0.5).isFinite).toBe(false);
    }
    expect(lists.unscale([], 2)).toEqual({ list: [], isFinite: true });
  });

  it('have one norm over all tensors', () => {
    expect(lists.norm(list()).dataSync()[0]).toBe(13);
    expect(lists.norm([]).dataSync()[0]).toBe(0);
  });

  it('do not change memory that other tensors share', () => {
    const x = tf.tensor1d([1, 2, 3, 4]);
    const copy = x.clone();
    const view = tf.slice(x, 1, 2);
    expect(values(lists.scale([x], 2))).toEqual([[2, 4, 6, 8]]);
    expect(values(lists.add([view], [tf.ones([2])], 1))).toEqual([[3, 4]]);
    expect(values([copy])).toEqual([[1, 2, 3, 4]]);
    const variable = tf.variable(tf.scalar(1));
    expect(values(lists.scale([variable.clone()], 2))).toEqual([[2]]);
    expect(values([variable])).toEqual([[1]]);
    variable.dispose();
  });

  it('do not leave additional tensors', () => {
    const [x, y] = [tf.ones([3]), tf.ones([3])];
    const before = [tf.memory().numTensors, liveTensors()];
    let result = [x];
    for (let i = 0; i < 3; i++) {
      result = lists.clamp(lists.scale(lists.add(result, [y], 1), 0.5), 0, 1) as typeof result;
    }
    lists.norm(result).dispose();
    expect([tf.memory().numTensors, liveTensors()]).toEqual(before);
  });
});

describe('products on acc', () => {
  let lists: ListMath;
  beforeEach(async () => {
    registerAccBackend();
    await tf.setBackend('acc');
    ({ lists } = kernelLayerOf('acc', tf.backend()));
    tf.engine().startScope();
  });
  afterEach(() => tf.engine().endScope());

  const wave = (rows: number, columns: number, seed: number) =>
    tf.tensor2d(
      Float32Array.from({ length: rows * columns }, (_, i) => Math.sin(1.7 * i + seed)),
      [rows, columns],
    );
  const namesIn = (action: () => void) => {
    const names: string[] = [];
    const end = observeCalls((name) => void names.push(name));
    action();
    end();
    return names;
  };

  it('are added to a sum in place by each candidate', () => {
    const operators = { blas: 'aten::addmm_', onednn: 'aten::add_.Tensor', panels: 'acc::addmm_' };
    const [x, dy] = [wave(20, 50, 1), wave(20, 60, 2)];
    const expected = values([wave(50, 60, 3).add(tf.matMul(x, dy, true))])[0]!;
    const { shapes, measuredMs } = kernelChoices().findLast(({ family }) => family === 'matmul')!;
    const key = Object.keys(chosenCandidates()).find((each) => each.includes(shapes))!;
    const candidates = Object.keys(measuredMs) as (keyof typeof operators)[];
    expect(candidates).toEqual(expect.arrayContaining(['blas', 'onednn']));
    for (const candidate of candidates) {
      useCandidates({ [key]: candidate });
      const sum = wave(50, 60, 3);
      const before = [tf.memory().numTensors, liveTensors()];
      let added!: tf.Tensor;
      const names = namesIn(() => (added = lists.addProduct!(sum, () => tf.matMul(x, dy, true))));
      expect(names).toContain(operators[candidate]);
      expect(added.dataId).toBe(sum.dataId);
      sum.dispose();
      expectClose(values([added])[0]!, expected, { rtol: 1e-5, atol: 1e-5 });
      expect([tf.memory().numTensors, liveTensors()]).toEqual(before);
    }
  });

  it('are alone where a sum cannot be written', () => {
    const [x, dy] = [wave(7, 5, 1), wave(7, 6, 2)];
    const product = () => tf.matMul(x, dy, true);
    const expected = values([product()]);
    const shared = wave(5, 6, 3);
    const clone = shared.clone();
    for (const sum of [shared, clone, wave(6, 5, 3), tf.zeros([1, 5, 6]), tf.variable(wave(5, 6, 3))]) {
      const before = values([sum]);
      const alone = lists.addProduct!(sum, product);
      expect(alone.dataId).not.toBe(sum.dataId);
      expect(values([alone])).toEqual(expected);
      expect(values([sum])).toEqual(before);
    }
  });

  it('are alone if they are products of pieces, which a kernel multiplies one by one', () => {
    const [x, dy, sum] = [wave(7, 5, 1), wave(7, 6, 2), wave(5, 6, 3)];
    const piece = ({ dataId, shape, dtype }: tf.Tensor) => ({ dataId, shape, dtype }) as tf.Tensor;
    const attrs = { transposeA: true, transposeB: false };
    const { kernelFunc } = tf.getKernel('BatchMatMul', 'acc');
    const before = values([sum]);
    const alone = lists.addProduct!(sum, () => {
      const inputs = { a: piece(x), b: piece(dy) };
      return tf
        .engine()
        .makeTensorFromTensorInfo(
          kernelFunc({ inputs, attrs, backend: tf.backend() }) as tf.TensorInfo,
          tf.backend(),
        );
    });
    expect(values([alone])).toEqual(values([tf.matMul(x, dy, true)]));
    expect(values([sum])).toEqual(before);
  });

  it('are the first ones only, and nothing may be computed from them', () => {
    const [x, sum] = [wave(5, 5, 1), wave(5, 5, 2)];
    expect(() => lists.addProduct!(sum, () => tf.matMul(x, x).neg())).toThrow(/addProduct/);
    const later = tf.matMul(x, x);
    expect(values([later])).toEqual(values([tf.matMul(x, x)]));
  });

  it.each([false, 'exact', true] as const)(
    'are added in a recorded step with the same bits: fuse %s',
    (fuse) => {
      const { recorder } = kernelLayerOf('acc', tf.backend());
      const x = wave(8, 40, 1);
      const step = () =>
        tf.tidy(() => {
          let sum = tf.matMul(x, x.relu(), true) as tf.Tensor;
          for (const factor of [2, 3]) {
            const dy = x.mul(factor).relu();
            const added = lists.addProduct!(sum, () => tf.matMul(x, dy, true));
            expect(added.dataId).toBe(sum.dataId);
            sum.dispose();
            sum = added;
          }
          return [sum];
        });
      const { results, recording } = recorder!.record([x], step);
      if (typeof recording === 'string') throw new Error(recording);
      recording.seal(fuse);
      const replayed = [1, 2].map(() => values(recording.replay([x]) as tf.Tensor[]));
      expect(replayed).toEqual([values(results), values(results)]);
      expect(recording.explanation).toContain('addmm_');
      recording.dispose();
    },
  );
});

it('lists on acc take one native call in place, and very long ones a few', async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  const { lists } = kernelLayerOf('acc', tf.backend());
  const names: string[] = [];
  tf.tidy(() => {
    const long = Array.from({ length: 1200 }, (_, i) => tf.scalar(i));
    const end = observeCalls((name) => void names.push(name));
    const short = long.slice(0, 900);
    expect(lists.scale(short, 2)).toEqual(short);
    expect(names).toEqual(['aten::_foreach_mul_.Scalar']);
    expect(
      lists.add(
        long,
        long.map((x) => tf.scalar(x.size)),
        1,
      ),
    ).toHaveLength(1200);
    end();
    expect(lists.norm(long).dataSync()[0]).toBeGreaterThan(0);
  });
  expect(names.filter((name) => name === 'aten::_foreach_add_.List')).toHaveLength(2);
});

it('sums that nobody shares are written in place in a recorded step', async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  const { lists, recorder } = kernelLayerOf('acc', tf.backend());
  const step = (x: tf.Tensor) =>
    tf.tidy(() => {
      const products = [2, 3, 4].map((factor) => tf.mul(x, factor));
      const created = lists.add([products[0]!], [products[1]!], 1);
      recorder!.runAction([], () => []);
      const again = lists.add(created, [products[2]!], 1, true);
      expect(again).toEqual(created);
      return again;
    });
  const x = tf.tensor1d([1, -2]);
  const names: string[] = [];
  const end = observeCalls((name) => void names.push(name));
  const { results, recording } = recorder!.record([x], () => step(x));
  end();
  expect(names.filter((name) => name.includes('foreach_add'))).toEqual([
    'aten::_foreach_add.List',
    'aten::_foreach_add_.List',
  ]);
  if (typeof recording === 'string') throw new Error(recording);
  recording.seal(true);
  const replayed = [1, 10].map((factor) =>
    tf.tidy(() => recording.replay([tf.mul(x, factor)]) as tf.Tensor[]),
  );
  expect([results, ...replayed].map((list) => values(list))).toEqual([[[9, -18]], [[9, -18]], [[90, -180]]]);
  recording.dispose();
  tf.dispose([[...results], replayed, x]);
});
