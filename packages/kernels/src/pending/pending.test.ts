import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  liveTensors,
  MemoryFlag,
  memoryFlags,
  memoryStats,
  observeCalls,
  operatorInPlace,
} from '@acc/native';
import type { AccBackend } from '../backend.js';
import { StepRecorder } from '../recording/recorder.js';
import { cast } from '../precision/index.js';
import { registerAccBackend } from '../register-backend.js';
import type { TensorData } from '../tensor-data.js';
import { expectSameAsCpu } from '../testing/compare.js';
import { pendingBytes, pendingCount, setMaxKeptBytes, setMinElements } from './all-pending.js';

let undo: () => void;
beforeAll(() => {
  registerAccBackend();
  undo = setMinElements(1);
});
afterAll(() => undo());
beforeEach(() => tf.setBackend('acc'));

const x = () => tf.sin(tf.range(0, 24)).reshape([4, 6]) as tf.Tensor2D;
const row = () => tf.cos(tf.range(0, 6)).add(2) as tf.Tensor1D;
const column = () => tf.cos(tf.range(0, 4)).add(2).reshape([4, 1]);

function norm(t: tf.Tensor): tf.Tensor {
  const { mean, variance } = tf.moments(t, -1, true);
  return t.sub(mean).div(variance.add(1e-5).sqrt()).mul(row()).add(row());
}

function gelu(t: tf.Tensor): tf.Tensor {
  const inner = t.add(t.pow(3).mul(0.044715)).mul(Math.sqrt(2 / Math.PI));
  return t.mul(0.5).mul(inner.tanh().add(1));
}

const CASES: Record<string, (t: tf.Tensor) => tf.Tensor> = {
  'one operator': (t) => t.mul(3),
  'arithmetic with broadcast operands': (t) => t.add(row()).sub(column()).mul(row()).div(column()),
  'an operand used twice': (t) => t.mul(t).add(t),
  'operands of equal size in other shapes': (t) =>
    t
      .mul(2)
      .reshape([2, 12])
      .add(t.reshape([2, 12])),
  'a pending operand that is broadcast': (t) => t.add(row().mul(2)).sub(column().mul(3)),
  'functions of one operand': (t) => t.neg().tanh().sigmoid().abs().add(1).sqrt().reciprocal().rsqrt().relu(),
  squares: (t) => t.mul(2).square().add(tf.squaredDifference(t, row())),
  'powers by constants': (t) =>
    [2, 3, -1, -2, 0.5, -0.5].map((n) => t.add(3).pow(n)).reduce((sum, y) => sum.add(y)),
  'maximum and minimum': (t) => t.mul(2).maximum(row().sub(2)).minimum(column()),
  'more operators than a program holds': (t) => {
    let y = t;
    for (let i = 0; i < 50; i++) y = y.mul(1.01).add(0.1);
    return y;
  },
  'more operands than a program holds': (t) => {
    let y = t;
    for (let i = 0; i < 6; i++) y = y.add(tf.cos(tf.range(i, i + 24)).reshape([4, 6]));
    return y;
  },
  'a chain that doubles': (t) => {
    let y = t.mul(0.5);
    for (let i = 0; i < 8; i++) y = y.mul(y).add(y);
    return y;
  },
  'a result that others also use': (t) => {
    const y = t.mul(2);
    return y.tanh().add(y.sum(0)).mul(y);
  },
  broadcastTo: (t) => tf.broadcastTo(column().mul(2), [4, 6]).mul(t),
  'a layer norm': norm,
  'a GELU': gelu,
  'softmax of masked scores': (t) => tf.softmax(t.mul(0.3).add(row().sub(2).mul(1e9).minimum(0))),
};

describe('results that wait', () => {
  it.each(Object.entries(CASES))('have the values of cpu: %s', (_, f) => expectSameAsCpu(() => f(x())));

  it.each(Object.entries(CASES))('have the gradients of cpu: %s', (_, f) =>
    expectSameAsCpu(() => tf.grad((t) => f(t).square().sum())(x())),
  );

  it.each(Object.entries(CASES).filter(([name]) => !name.startsWith('maximum')))(
    'have the second gradients of cpu: %s',
    (_, f) =>
      expectSameAsCpu(() =>
        tf.grad((t) =>
          tf
            .grad((u) => f(u).square().sum())(t)
            .square()
            .sum(),
        )(x()),
      ),
  );

  it('wait until they are read', () => {
    const before = pendingCount();
    const y = x().mul(2).add(1);
    expect(pendingCount()).toBeGreaterThan(before);
    y.dataSync();
    const now = pendingCount();
    y.add(1).dispose();
    expect(pendingCount()).toBe(now);
  });

  it('keep NaN, infinities and zeros with their sign', () => {
    const y = tf.tensor1d([NaN, Infinity, -Infinity, 0, -0, 1e38]).mul(-2).tanh();
    expect(y.dataSync()).toEqual(Float32Array.of(NaN, -1, 1, -0, 0, -1));
  });

  it('are computed in integers if the operands are integers', () =>
    expectSameAsCpu(() =>
      tf
        .tensor1d([1, 2, 3], 'int32')
        .add(tf.tensor1d([4, 5, 6], 'int32'))
        .mul(2),
    ));
});

describe('run as one program', () => {
  const programsOf = (compute: () => void): number => {
    let programs = 0;
    const end = observeCalls((name, [inputs]) => {
      if (name === 'acc::elementwise' || name === 'aten::_to_copy') programs++;
      if (Array.isArray(inputs)) expect(inputs).toHaveLength(1);
    });
    tf.tidy(compute);
    end();
    return programs;
  };

  it('in which an operator counts once, also where it is used twice', () => {
    const a = x();
    expect(programsOf(() => void CASES['a chain that doubles']!(a).dataSync())).toBe(1);
  });

  it('that gives 16 bits, in another shape', () => {
    const a = x();
    const y = tf.tidy(() => {
      const later = a.mul(3).add(1).reshape([2, 12]);
      let short!: tf.Tensor;
      expect(programsOf(() => (short = tf.keep(cast(later, 'bfloat16', 'float32'))))).toBe(1);
      return cast(short, 'float32', 'bfloat16');
    });
    expect(y.shape).toEqual([2, 12]);
    y.dataSync().forEach((value, i) => expect(value).toBeCloseTo(a.dataSync()[i]! * 3 + 1, 1));
  });
});

describe('values do not change under results that wait', () => {
  /** A sum with a variable that waits: with one as large as the result it would not. */
  const waitingSum = (v: tf.Variable): tf.Tensor => {
    const before = pendingCount();
    const y = tf.ones([8, 3]).add(v);
    expect(pendingCount()).toBeGreaterThan(before);
    return y;
  };

  it('if a variable is assigned', () => {
    const v = tf.variable(tf.tensor1d([1, 2, 3]));
    const [y, z] = [waitingSum(v), v.mul(2)];
    v.assign(tf.tensor1d([7, 7, 7]));
    expect([...y.max(0).dataSync()]).toEqual([2, 3, 4]);
    expect([...z.dataSync()]).toEqual([2, 4, 6]);
    expect([...waitingSum(v).max(0).dataSync()]).toEqual([8, 8, 8]);
    v.dispose();
  });

  it('if an optimizer updates a variable', () => {
    const v = tf.variable(tf.tensor1d([1, 2, 3]));
    const [y, z] = [waitingSum(v), v.mul(2)];
    for (let step = 0; step < 2; step++) tf.train.sgd(1).minimize(() => v.sum() as tf.Scalar, false, [v]);
    expect([...v.dataSync()]).toEqual([-1, 0, 1]);
    expect([...y.max(0).dataSync()]).toEqual([2, 3, 4]);
    expect([...z.dataSync()]).toEqual([2, 4, 6]);
    v.dispose();
  });

  it('if a variable made of one is updated', () => {
    const created = tf.tensor1d([1, 2, 3]).mul(2);
    const v = tf.variable(created);
    const y = created.add(1);
    tf.train.sgd(1).minimize(() => v.sum() as tf.Scalar, false, [v]);
    expect([...v.dataSync()]).toEqual([1, 3, 5]);
    expect([...created.dataSync()]).toEqual([2, 4, 6]);
    expect([...y.dataSync()]).toEqual([3, 5, 7]);
    v.dispose();
  });

  it('if an operand is disposed', () => {
    const a = tf.tensor1d([1, 2, 3]);
    const b = a.mul(2);
    const y = b.add(1);
    a.dispose();
    b.dispose();
    expect([...y.dataSync()]).toEqual([3, 5, 7]);
  });

  it('if a result is written in place', () => {
    const a = tf.tensor1d([1, 2, 3]).mul(2);
    const y = a.add(1);
    const native = (tf.backend() as AccBackend).nativeToWrite(a)!;
    // What still uses the value holds it, so a writer sees that the memory is shared.
    expect(memoryFlags([native])[0]! & MemoryFlag.exclusive).toBe(0);
    expect([...y.dataSync()]).toEqual([3, 5, 7]);
    operatorInPlace('aten::fill_.Scalar')(native, 9);
    expect([...a.dataSync()]).toEqual([9, 9, 9]);
    expect([...a.add(1).dataSync()]).toEqual([10, 10, 10]);
    expect([...y.dataSync()]).toEqual([3, 5, 7]);
  });
});

describe('errors', () => {
  it('of shapes come from the call', () => {
    const [a, b] = [tf.ones([2 ** 9, 3]).mul(2), tf.ones([2 ** 9, 2]).mul(2)];
    expect(() => a.add(b)).toThrowError(expect.objectContaining({ code: 'ACC_OPERATOR_FAILED' }));
  });

  it('of what was disposed come from the call', () => {
    const [a, scalar] = [x().mul(2), tf.scalar(2)];
    tf.dispose([a, scalar]);
    expect(() => a.add(1)).toThrowError(/disposed/);
    expect(() => x().mul(scalar)).toThrowError(/disposed/);
  });

  it('of memory come from reading, and others can be read', () => {
    const scalar = tf.ones([2, 1, 1]);
    const a = x();
    // 256 TiB.
    const large = tf.zeros([2 ** 22, 1]).add(tf.zeros([1, 2 ** 24]));
    const live = liveTensors();
    expect(() => scalar.add(large)).toThrowError(expect.objectContaining({ code: 'ACC_OUT_OF_MEMORY' }));
    expect(() => large.max().dataSync()).toThrowError(/^The result float32\[.*: Out of memory: /);
    expect(liveTensors()).toBe(live);
    const y = a.mul(2);
    const { recording } = new StepRecorder(tf.backend() as AccBackend).record([], () => [
      tf.ones([3]).mul(3),
    ]);
    if (typeof recording === 'string') throw new Error(recording);
    recording.dispose();
    expect(y.dataSync()).toEqual(a.dataSync().map((value) => 2 * value));
    const before = pendingCount();
    large.dispose();
    expect(pendingCount()).toBe(before - 1);
  });
});

it('what tfjs times includes results that wait', async () => {
  let waiting = NaN;
  const before = pendingCount();
  const y = x().mul(2);
  expect(pendingCount()).toBeGreaterThan(before);
  const { kernelMs } = await tf.time(() => {
    waiting = pendingCount();
    tf.tidy(() => void tf.keep(y.add(1)));
  });
  expect(waiting).toBe(0);
  expect(pendingCount()).toBe(0);
  expect(kernelMs).toBeGreaterThan(0);
});

describe('memory', () => {
  const MIB = 2 ** 20;

  /** A result of 1 MiB that waits for three operands of 1 MiB, all of whose elements are 3 · i + 3. */
  const sumOfThree = (i: number): tf.Tensor =>
    tf.tidy(() => {
      const [a, b, c] = [0, 1, 2].map((k) => tf.fill([MIB / 4], i + k)) as [tf.Tensor, tf.Tensor, tf.Tensor];
      return a.add(b).add(c);
    });

  it('that operands take is bounded', () => {
    const restore = setMaxKeptBytes(4 * MIB);
    const { leafBytes, waitingBytes } = pendingBytes();
    const results: tf.Tensor[] = [];
    let largest = 0;
    const before = memoryStats().allocatedBytes;
    for (let i = 0; i < 12; i++) {
      results.push(sumOfThree(i));
      largest = Math.max(largest, memoryStats().allocatedBytes - before - results.length * MIB);
    }
    expect(largest).toBeGreaterThan(2 * MIB);
    // The operands of one more result.
    expect(largest).toBeLessThanOrEqual(7 * MIB);
    expect(results.map((y) => y.min().dataSync()[0])).toEqual(results.map((_, i) => 3 * i + 3));
    tf.dispose(results);
    expect(memoryStats().allocatedBytes - before).toBeLessThan(MIB / 16);
    expect(pendingBytes()).toEqual({ leafBytes, waitingBytes });
    restore();
  });

  it('that operands take is bounded when other results no longer wait', () => {
    const restore = setMaxKeptBytes(4 * MIB);
    const keptBytes = () => pendingBytes().leafBytes - pendingBytes().waitingBytes;
    const before = keptBytes();
    // 16 MiB that wait for operands of a few KiB.
    const wide = tf.ones([2 * 2 ** 10, 1]).add(tf.ones([1, 2 ** 11]));
    const results = [0, 1, 2, 3, 4].map(sumOfThree);
    wide.dispose();
    expect(keptBytes() - before).toBeLessThanOrEqual(4 * MIB);
    expect(results.map((y) => y.min().dataSync()[0])).toEqual(results.map((_, i) => 3 * i + 3));
    tf.dispose(results);
    restore();
  });

  it('holds a value that many others use', () => {
    const h = x().mul(2).tanh();
    const isComputed = () => (h.dataId as TensorData).pending === undefined;
    const sums: number[] = [];
    for (let i = 1; i < 6; i++) {
      expect(isComputed()).toBe(i > 4);
      sums.push(tf.tidy(() => h.mul(i).sum().dataSync()[0]!));
    }
    sums.forEach((sum, i) => expect(sum).toBeCloseTo(sums[0]! * (i + 1), 4));
  });

  const counts = () => ({ ...tf.memory(), live: liveTensors(), waiting: pendingCount(), bytes: 0 });
  const flat = ({ numTensors, numBytes, live, waiting }: ReturnType<typeof counts>) => ({
    ...{ numTensors, numBytes, live, waiting, ids: tf.backend().numDataIds(), ...pendingBytes() },
    allocated: memoryStats().allocatedBytes,
  });

  it.each(Object.entries(CASES))('is the same before and after: %s', (_, f) => {
    const input = x();
    const step = () => {
      tf.tidy(() =>
        tf
          .grad((t) => f(t).sum())(input)
          .dataSync(),
      );
      // A result that nobody reads.
      tf.tidy(() => f(input)).dispose();
    };
    step();
    const before = flat(counts());
    for (let i = 0; i < 3; i++) step();
    expect(flat(counts())).toEqual(before);
    input.dispose();
  });

  it('of a whole tensor is free after a copy of its part', () => {
    const before = memoryStats().allocatedBytes;
    const copy = tf.tidy(() =>
      tf
        .fill([MIB], 2)
        .slice([0], [MIB / 4])
        .mul(1),
    );
    expect(memoryStats().allocatedBytes - before).toBeLessThan(1.1 * MIB);
    copy.dispose();
  });

  it('of a variable is held by the variable alone', () => {
    const v = tf.tidy(() => tf.variable(tf.fill([2 ** 16], 2)));
    const y = v.mul(2).add(1);
    const native = (tf.backend() as AccBackend).nativeToWrite(v)!;
    expect(memoryFlags([native])[0]! & MemoryFlag.exclusive).toBeGreaterThan(0);
    tf.dispose([v, y]);
  });

  it('of the gradient of a GELU is that of its operand', () => {
    const restore = setMinElements(2 ** 15);
    const kept = tf.tidy(() => {
      let bytes = NaN;
      tf.grad((t) => {
        const before = memoryStats().allocatedBytes;
        const y = tf.tidy(() => gelu(t).sum());
        bytes = memoryStats().allocatedBytes - before;
        return y;
      })(tf.ones([2 ** 18]));
      return bytes;
    });
    restore();
    expect(kept).toBeLessThan(2 ** 18);
  });
});

it('a recorded step takes the values of results that wait, and its own operators do not wait', () => {
  const recorder = new StepRecorder(tf.backend() as AccBackend);
  const given = tf.tensor1d([1, 2, 3]).mul(2);
  const captured = tf.tensor1d([1, 1, 1]).mul(3);
  const before = pendingCount();
  const { recording, results } = recorder.record([given], () => [given.add(captured)]);
  expect(pendingCount()).toBeLessThan(before);
  if (typeof recording === 'string') throw new Error(recording);
  recording.seal(false);
  expect([...results[0]!.dataSync()]).toEqual([5, 7, 9]);
  const other = tf.tensor1d([0, 0, 1]).mul(2);
  const replayed = recording.replay([other]);
  if (replayed instanceof Error) throw replayed;
  const [result] = replayed;
  expect([...result!.dataSync()]).toEqual([3, 3, 5]);
  recording.dispose();
});
