import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CompiledStep } from '@acc/compile';
import { memoryStats } from '@acc/native';
import { Accelerator } from '../accelerator.js';

let accelerator: Accelerator;
beforeEach(async () => {
  accelerator = await Accelerator.create({ engine: 'acc' });
});
afterEach(() => {
  accelerator.freeMemory();
  vi.restoreAllMocks();
});

/** Calls before a step is replayed: one plain, two recorded. */
const BEFORE_REPLAYS = 3;

const valueOf = (x: tf.Tensor) => x.dataSync()[0]!;

/** Calls `step` so often that it is replayed. */
function settle<Args extends unknown[]>(step: CompiledStep<Args, tf.Tensor>, ...args: Args): number[] {
  return Array.from({ length: BEFORE_REPLAYS + 2 }, () => {
    const result = step(...args);
    const value = valueOf(result);
    result.dispose();
    return value;
  });
}

describe('a step without variables', () => {
  it('is replayed with other arguments, and returns new tensors', () => {
    const step = accelerator.compile((x: tf.Tensor, y: tf.Tensor) => x.mul(y).add(1));
    for (let i = 0; i < 6; i++) {
      const result = step(tf.tensor1d([i, 2]), tf.tensor1d([3, i]));
      expect([...result.dataSync()]).toEqual([3 * i + 1, 2 * i + 1]);
    }
    expect(step.replays).toBe(6 - BEFORE_REPLAYS);
    expect(step.reason).toBeUndefined();
  });

  it('has a recording for each combination of dtypes and plain values, for all shapes', () => {
    const step = accelerator.compile((x: tf.Tensor, factor: number) => x.mul(factor).sum());
    for (const [size, factor] of [
      [2, 3],
      [4, 3],
      [2, 5],
    ] as const) {
      expect(settle(step, tf.ones([size]), factor)).toEqual(Array(5).fill(size * factor));
    }
    // Of the second shape only the first call is recorded.
    expect(step.replays).toBe(2 + 4 + 2);
  });

  it('accepts and returns nested structures, its own arguments, variables and plain values', () => {
    const weight = tf.variable(tf.scalar(2));
    const step = accelerator.compile(({ x, y }: { x: tf.Tensor; y: [tf.Tensor, string] }) => ({
      product: x.mul(y[0]).mul(weight),
      same: [x, weight, y[1]],
      shared: x.clone(),
    }));
    for (let i = 0; i < 5; i++) {
      const x = tf.scalar(i);
      const result = step({ x, y: [tf.scalar(3), 'name'] });
      expect(valueOf(result.product)).toBe(6 * i);
      expect(result.same).toEqual([x, weight, 'name']);
      expect(result.same[0]).toBe(x);
      x.dispose();
      expect(valueOf(result.shared)).toBe(i);
    }
    expect(step.replays).toBe(2);
  });

  it('distinguishes one tensor given twice from two tensors', () => {
    const step = accelerator.compile((x: tf.Tensor, y: tf.Tensor) => x.sub(y));
    const [x, y] = [tf.scalar(5), tf.scalar(3)];
    expect(settle(step, x, x)).toEqual([0, 0, 0, 0, 0]);
    expect(settle(step, x, y)).toEqual([2, 2, 2, 2, 2]);
    expect(step.replays).toBe(4);
  });

  it('accepts reshaped tensors, and the same tensors again', () => {
    const step = accelerator.compile((x: tf.Tensor) => x.reshape([3, 2]).sum(0).reshape([2, 1]).max());
    const flat = tf.range(0, 6);
    expect(settle(step, flat)).toEqual([9, 9, 9, 9, 9]);
    expect(settle(step, flat.reshape([6]))).toEqual([9, 9, 9, 9, 9]);
    const view = tf.range(0, 6).reshape([2, 3]).reshape([6]);
    expect(settle(step, view)).toEqual([9, 9, 9, 9, 9]);
    expect(step.replays).toBe(12);
  });

  it('protects uploaded data from being overwritten', () => {
    // tf.buffer's data is uploaded; scatterND writes into zeros of its own.
    const step = accelerator.compile((x: tf.Tensor) =>
      tf.scatterND(tf.tensor2d([[1], [3]], [2, 1], 'int32'), x, [4]).add(tf.tensor1d([1, 2, 3, 4])),
    );
    for (let i = 0; i < 6; i++) {
      expect([...step(tf.tensor1d([i, 10])).dataSync()]).toEqual([1, 2 + i, 3, 14]);
    }
    expect(step.replays).toBe(3);
  });

  it('disposes what a run without replay leaves behind', () => {
    const step = accelerator.compile((x: tf.Tensor) => x.add(1).mul(2).sum());
    const x = tf.ones([8]);
    const before = tf.memory().numTensors;
    settle(step, x);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('leaves its results to an enclosing tidy', () => {
    const step = accelerator.compile((x: tf.Tensor) => x.add(1));
    const x = tf.scalar(1);
    settle(step, x);
    const before = tf.memory().numTensors;
    tf.tidy(() => void step(x));
    expect(tf.memory().numTensors).toBe(before);
  });

  it('uses constant memory over 10,000 replays', () => {
    const step = accelerator.compile((x: tf.Tensor) => x.matMul(x).relu().sum());
    const x = tf.ones([16, 16]);
    settle(step, x);
    const before = { tensors: tf.memory().numTensors, bytes: memoryStats().allocatedBytes };
    for (let i = 0; i < 10_000; i++) step(x).dispose();
    expect({ tensors: tf.memory().numTensors, bytes: memoryStats().allocatedBytes }).toEqual(before);
    expect(step.replays).toBe(10_002);
  });

  it('runs without replay inside a gradient computation or a profile', async () => {
    const step = accelerator.compile((x: tf.Tensor) => x.square().sum() as tf.Scalar);
    settle(step, tf.tensor1d([1, 2]));
    expect([
      ...tf
        .grad(step)(tf.tensor1d([1, 2]))
        .dataSync(),
    ]).toEqual([2, 4]);
    const profile = await tf.profile(() => step(tf.tensor1d([1, 2])));
    expect(profile.kernelNames).toContain('Square');
    expect(step.reason).toBeUndefined();
  });

  it('runs without replay if the replay fails, counts failures, and gives up after the fourth', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    let isWhole = false;
    // The recording takes rows by index, whatever `isWhole` says later.
    const step = accelerator.compile((x: tf.Tensor, rows: tf.Tensor1D) =>
      (isWhole ? x : x.gather(rows)).sum(),
    );
    const x = tf.tensor1d([1, 2, 4]);
    const sum = (...rows: number[]) => tf.tidy(() => valueOf(step(x, tf.tensor1d(rows, 'int32'))));
    for (let i = 0; i < BEFORE_REPLAYS + 1; i++) expect(sum(0, 2)).toBe(5);
    expect([step.replays, step.failedReplays]).toEqual([1, 0]);
    // What fails in the step, too, is the caller's.
    expect(() => sum(0, 9)).toThrowError();
    expect([step.replays, step.failedReplays]).toEqual([1, 0]);
    isWhole = true;
    for (let i = 1; i <= 3; i++) {
      expect(sum(0, 9)).toBe(7);
      expect([step.replays, step.failedReplays, step.reason]).toEqual([i, i, undefined]);
      expect(sum(0, 1)).toBe(3);
    }
    expect(sum(0, 9)).toBe(7);
    expect(step.reason).toMatch(/replay failed 4 times, but the step itself did not: .*index/);
    expect(warn.mock.calls.filter(([text]) => String(text).startsWith('acc:'))).toHaveLength(1);
    expect(sum(0, 1)).toBe(7);
    expect([step.replays, step.failedReplays]).toEqual([4, 4]);
  });

  it('can call another compiled step', () => {
    const inner = accelerator.compile((x: tf.Tensor) => x.add(1));
    const outer = accelerator.compile((x: tf.Tensor) => inner(x).mul(2));
    expect(settle(outer, tf.scalar(1))).toEqual([4, 4, 4, 4, 4]);
    expect(outer.replays).toBe(2);
  });

  it('draws new random numbers in each replay', async () => {
    const { dropout } = await import('@acc/kernels');
    const step = accelerator.compile((x: tf.Tensor) => dropout(x, 0.5));
    const x = tf.ones([256]);
    const drawn = Array.from({ length: 8 }, () => step(x).dataSync().join());
    expect(new Set(drawn).size).toBe(8);
    expect(step.replays).toBe(5);
  });

  it('notices that a captured tensor was replaced by another', () => {
    let mask = tf.tensor1d([1, 0]);
    const step = accelerator.compile((x: tf.Tensor) => x.mul(mask).sum());
    const x = tf.tensor1d([3, 4]);
    expect(settle(step, x)).toEqual([3, 3, 3, 3, 3]);
    mask.dispose();
    mask = tf.tensor1d([0, 1]);
    expect(settle(step, x)).toEqual([4, 4, 4, 4, 4]);
    expect(step.reason).toBeUndefined();
  });
});

describe('a step that cannot be replayed runs as usual, with a reason', () => {
  const x = () => tf.tensor1d([1, 2, 3]);
  let count = 0;
  const kept: tf.Tensor[] = [];
  afterEach(() => tf.dispose(kept.splice(0)));
  const steps: [string, (x: tf.Tensor) => tf.Tensor, RegExp][] = [
    ['reads strings', (x) => x.add(tf.tensor1d(['a', 'bc']).dataSync().length), /reads strings/],
    ['reads data', (x) => x.mul(x.sum().dataSync()[0]!), /reads values back/],
    [
      'runs a kernel on cpu',
      (x) => tf.image.nonMaxSuppression(tf.tensor2d([[0, 0, 1, 1]]), x.slice(0, 1) as tf.Tensor1D, 1),
      /cpu backend|reads/,
    ],
    ['draws numbers', (x) => x.mul(tf.randomUniform([3])), /draws numbers in JavaScript/],
    [
      'draws one of two numbers',
      (x) => x.mul(tf.randomUniform([1], 0, 2, 'int32')),
      /draws numbers in JavaScript/,
    ],
    [
      'uploads other numbers each time',
      (x) => x.mul(tf.tensor1d([1, 2, count++])),
      /changes from run to run/,
    ],
    [
      'replaces a tensor that it keeps',
      (x) => (kept.pop()?.dispose(), kept.push(tf.keep(x.add(1))), x.add(2)),
      /keeps tensors/,
    ],
    ['counts in JavaScript', (x) => x.mul(tf.scalar(count++)), /changes from run to run/],
    ['clips by a number that changes', (x) => x.clipByValue(0, count++), /changes from run to run/],
    ['makes other calls each time', (x) => (count++ % 2 ? x.add(x) : x.mul(x)), /Tensor/],
    [
      'takes other tensors each time',
      (x) => x.add(kept[kept.push(tf.scalar(count++)) - 1]!),
      /disposes|keeps|from run to run|uses changing tensors/,
    ],
    ['keeps a tensor', (x) => (kept.push(tf.keep(x.add(1))), x.add(2)), /keeps tensors/],
    ['makes a variable', (x) => (kept.push(tf.variable(x)), x.add(2)), /makes or disposes variables/],
    [
      'has a shape that depends on data',
      (x) => tf.unique(x.toInt() as tf.Tensor1D).values,
      /depends on values|reads/,
    ],
  ];
  it.each(steps)('%s', (_, plain, reason) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    count = 0;
    const step = accelerator.compile(plain);
    for (let i = 0; i < 8; i++) step(x());
    expect(step.replays).toBe(0);
    expect(step.reason).toMatch(reason);
    const ours = warn.mock.calls.filter(([text]) => String(text).startsWith('acc:'));
    expect(ours).toHaveLength(1);
  });

  it('because it makes an optimizer each time', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const w = tf.variable(tf.scalar(1));
    const step = accelerator.compile((by: tf.Tensor) => {
      const optimizer = tf.train.sgd(0.5);
      const loss = optimizer.minimize(() => w.mul(by).asScalar(), true)!;
      optimizer.dispose();
      return loss;
    });
    expect(settle(step, tf.scalar(2))).toEqual([2, 0, -2, -4, -6]);
    expect(step.reason).toMatch(/^it uses different optimizers in different runs, at .*compile.test.ts:\d+$/);
    w.dispose();
  });

  it('because it changes a record of its arguments', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const state = { h: tf.scalar(1) };
    const step = accelerator.compile((given: typeof state) => (given.h = given.h.mul(2)));
    const values = Array.from({ length: 5 }, () => {
      kept.push(state.h);
      step(state);
      return state.h.dataSync()[0];
    });
    kept.push(state.h);
    expect(values).toEqual([2, 4, 8, 16, 32]);
    expect(step.reason).toBe('it changes the arrays or records of its arguments (argument 1.h)');
  });

  it('because it returns other plain values each time', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    let calls = 0;
    const step = accelerator.compile((x: tf.Tensor) => [x.add(1), calls++] as const);
    for (let i = 0; i < 7; i++) expect(step(x())[1]).toBe(i);
    expect(step.reason).toMatch(/different plain values/);
  });

  it('because it returns a tensor from outside', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const outside = tf.tensor1d([7]);
    const step = accelerator.compile((x: tf.Tensor) => [outside, x.add(outside)]);
    for (let i = 0; i < 5; i++) expect(step(x()).map((one) => one.dataSync()[0])).toEqual([7, 8]);
    expect(step.replays).toBe(0);
    expect(step.reason).toMatch(/returns a tensor from outside/);
  });

  it('because of an argument of an unknown type', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const step = accelerator.compile((x: Float32Array) => tf.tensor1d(x).sum());
    expect(settle(step, Float32Array.of(1, 2))).toEqual([3, 3, 3, 3, 3]);
    expect(step.reason).toMatch(/Float32Array/);
  });

  it('because it is called with too many plain values', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const step = accelerator.compile((x: tf.Tensor, factor: number) => x.mul(factor));
    for (let factor = 1; factor < 12; factor++) expect(valueOf(step(tf.scalar(1), factor))).toBe(factor);
    expect(step.reason).toMatch(/more than 8 combinations/);
    // Those that came first are replayed all the same.
    expect(settle(step, tf.scalar(1), 2)).toEqual([2, 2, 2, 2, 2]);
    expect(step.replays).toBeGreaterThan(0);
  });

  it('because another backend is active', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const step = accelerator.compile((x: tf.Tensor) => x.add(1).sum());
    await tf.setBackend('cpu');
    expect(settle(step, tf.ones([2]))).toEqual([4, 4, 4, 4, 4]);
    expect(step.reason).toMatch(/'cpu'/);
    expect(step.replays).toBe(0);
    await tf.setBackend('acc');
    for (const replays of [2, 4]) {
      expect(settle(step, tf.ones([2]))).toEqual([4, 4, 4, 4, 4]);
      expect([step.reason, step.replays]).toEqual([undefined, replays]);
      // Another backend between two replays has all recorded anew.
      await tf.setBackend('cpu');
      expect(valueOf(step(tf.ones([2])))).toBe(4);
      expect(step.reason).toMatch(/'cpu'/);
      await tf.setBackend('acc');
    }
    await tf.setBackend('cpu');
    accelerator.freeMemory();
    accelerator = await Accelerator.create({ engine: 'tfjs' });
    const other = accelerator.compile((x: tf.Tensor) => x.add(1).sum());
    expect(settle(other, tf.ones([2]))).toEqual([4, 4, 4, 4, 4]);
    expect(other.reason).toMatch(/cannot record steps/);
  });
});

describe('errors', () => {
  it('of a step that is being recorded reach the caller, and leave nothing behind', () => {
    let isBroken = false;
    const step = accelerator.compile((x: tf.Tensor) => {
      const y = x.add(1);
      if (isBroken) throw new RangeError('broken');
      return y;
    });
    step(tf.scalar(1));
    isBroken = true;
    expect(() => step(tf.scalar(1))).toThrow(RangeError);
    isBroken = false;
    expect(settle(step, tf.scalar(1))).toEqual([2, 2, 2, 2, 2]);
    expect(step.replays).toBe(3);
  });

  it('of a replay equal those of a run without replay', () => {
    const table = tf.variable(tf.ones([4, 2]));
    const step = accelerator.compile((ids: tf.Tensor) => tf.gather(table, ids as tf.Tensor1D).sum());
    expect(settle(step, tf.tensor1d([0, 3], 'int32'))).toEqual([4, 4, 4, 4, 4]);
    expect(() => step(tf.tensor1d([0, 7], 'int32'))).toThrowError(
      expect.objectContaining({ code: 'ACC_INDEX_OUT_OF_RANGE' }),
    );
    expect(valueOf(step(tf.tensor1d([1, 2], 'int32')))).toBe(4);
  });

  it('are those of tfjs for a disposed argument', () => {
    const step = accelerator.compile((x: tf.Tensor) => x.add(1));
    settle(step, tf.scalar(1));
    const x = tf.scalar(1);
    x.dispose();
    expect(() => step(x)).toThrow('Tensor is disposed.');
  });

  it('are thrown for an asynchronous step', () => {
    const step = accelerator.compile(async (x: tf.Tensor) => x.data());
    expect(() => step(tf.scalar(1))).toThrowError(expect.objectContaining({ code: 'ACC_COMPILE_ASYNC' }));
  });
});

describe('dispose', () => {
  it('frees recordings; the step then runs without replay, as after freeMemory', () => {
    const constant = Array.from({ length: 4096 }, (_, i) => i);
    const bytes = memoryStats().allocatedBytes;
    const x = tf.scalar(1);
    const step = accelerator.compile((x: tf.Tensor) => x.mul(tf.tensor1d(constant)).sum());
    settle(step, x);
    expect(memoryStats().allocatedBytes - bytes).toBeGreaterThan(4 * 4096);
    step.dispose();
    x.dispose();
    expect(memoryStats().allocatedBytes).toBe(bytes);
    const replays = step.replays;
    settle(step, tf.scalar(1));
    expect(step.replays).toBe(replays);
  });
});
