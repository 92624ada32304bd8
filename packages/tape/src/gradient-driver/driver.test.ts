import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { installGradientDriver, type DriverHooks } from './driver.js';

let restore: (() => void) | undefined;
const noHooks: DriverHooks = { begin: () => undefined };

function drive(hooks: DriverHooks = noHooks): void {
  restore = installGradientDriver(hooks);
}

beforeAll(async () => {
  await tf.setBackend('cpu');
});

afterEach(() => {
  restore?.();
  restore = undefined;
});

/** The values that `run` returns, computed by tfjs's own walk and by ours. */
function both(run: () => tf.Tensor[]): { own: number[][]; driven: number[][] } {
  const values = () => {
    const tensors = run();
    const read = tensors.map((t) => [...t.dataSync()]);
    tf.dispose(tensors);
    return read;
  };
  const own = values();
  drive();
  return { own, driven: values() };
}

const x = () => tf.tensor2d([0.5, -1, 2, 3, 0.1, -0.7], [2, 3]);

const CASES: Record<string, () => tf.Tensor[]> = {
  'a chain': () => [tf.grad((t) => t.square().sin().sum())(x())],
  'a tensor used more than once': () => [tf.grad((t) => t.mul(t).add(t).mul(t.exp()).sum())(x())],
  'several inputs, one of them used twice': () =>
    tf.grads((a, b) => tf.matMul(a!, b!, false, true).relu().add(a!.sum()).sum())([x(), x().mul(2)]),
  'a given dy': () => [tf.grad((t) => t.square())(x(), tf.tensor2d([1, 2, 3, 4, 5, 6], [2, 3]))],
  broadcasting: () => tf.grads((a, b) => a!.mul(b!).sum())([x(), tf.tensor1d([1, 2, 3])]),
  'an operator with several outputs': () => [
    tf.grad((t) => {
      const [a, b] = tf.split(t, [1, 2], 1) as [tf.Tensor, tf.Tensor];
      return a.square().sum().add(b.sum());
    })(x()),
  ],
  'a custom gradient that hands dy on': () => {
    const twice = tf.customGrad((t) => {
      const value = (t as tf.Tensor).mul(2);
      return { value, gradFunc: (dy: tf.Tensor) => dy };
    });
    return [tf.grad((t) => twice(t).add(twice(t)).sum())(x())];
  },
  'second order': () => [
    tf.grad((t) =>
      tf
        .grad((u) => u.pow(tf.scalar(3)).sum())(t)
        .sum(),
    )(x()),
  ],
  'convolution and pooling': () => {
    const image = tf.sin(tf.range(0, 2 * 6 * 6 * 2)).reshape([2, 6, 6, 2]) as tf.Tensor4D;
    const filter = tf.cos(tf.range(0, 3 * 3 * 2 * 4)).reshape([3, 3, 2, 4]) as tf.Tensor4D;
    return tf.grads((i, f) =>
      tf
        .maxPool(tf.conv2d(i as tf.Tensor4D, f as tf.Tensor4D, 1, 'same'), 2, 2, 'valid')
        .square()
        .sum(),
    )([image, filter]);
  },
};

describe('the gradient driver', () => {
  it.each(Object.entries(CASES))("gives tfjs's values, bit for bit: %s", (_, run) => {
    const { own, driven } = both(run);
    expect(driven).toEqual(own);
  });

  it('leaves no tensor behind', () => {
    drive();
    const v = tf.variable(x());
    const step = () => {
      const { value, grads } = tf.variableGrads(() => v.square().exp().mean() as tf.Scalar, [v]);
      value.dispose();
      tf.dispose(grads);
    };
    step();
    const before = tf.memory();
    for (let i = 0; i < 5; i++) step();
    expect(tf.memory().numTensors).toBe(before.numTensors);
    expect(tf.memory().numDataBuffers).toBe(before.numDataBuffers);
    v.dispose();
  });

  it('frees saved tensors once the walk has passed their node', () => {
    drive();
    const alive: number[] = [];
    const probe = tf.customGrad((t) => ({
      value: (t as tf.Tensor).clone(),
      gradFunc: (dy: tf.Tensor) => {
        alive.push(tf.memory().numDataBuffers);
        return dy.clone();
      },
    }));
    tf.tidy(() => {
      tf.grad((t) => {
        let y = t;
        for (let i = 0; i < 8; i++) y = probe(y.sigmoid());
        return y.sum();
      })(x());
    });
    expect(alive).toHaveLength(8);
    for (let i = 1; i < alive.length; i++) expect(alive[i]).toBeLessThan(alive[i - 1]!);
  });

  it('frees the terms of a sum, and what a gradient function creates for all of its inputs', () => {
    drive();
    const alive: number[] = [];
    const probe = tf.customGrad((t, u) => ({
      value: tf.mul(t as tf.Tensor, u as tf.Tensor),
      gradFunc: (dy: tf.Tensor) => {
        alive.push(tf.memory().numTensors);
        // These tensors are made before a gradient of an input is requested.
        const [a, b, c] = [dy.mul(2), dy.mul(3), dy.mul(4)];
        return [a.add(c), b.add(c)];
      },
    }));
    tf.tidy(() => {
      tf.grads((t, u) => {
        let y = t!;
        for (let i = 0; i < 8; i++) y = probe(y, u!);
        return y.sum();
      })([x(), x()]);
    });
    expect(alive).toHaveLength(8);
    // The difference is the sum for u, which does not exist the first time.
    expect(new Set(alive.slice(1)).size).toBe(1);
    expect(alive[1]! - alive[0]!).toBeLessThanOrEqual(1);
  });

  it('keeps a tensor that a gradient function returns twice, or has saved', () => {
    drive();
    const twice = tf.customGrad((t, u) => ({
      value: tf.add(t as tf.Tensor, u as tf.Tensor),
      gradFunc: (dy: tf.Tensor) => {
        const both = dy.mul(2);
        return [both, both];
      },
    }));
    const saving = tf.customGrad((t, save) => {
      (save as (tensors: tf.Tensor[]) => void)([t as tf.Tensor]);
      return { value: tf.exp(t as tf.Tensor), gradFunc: (_: tf.Tensor, [kept]: tf.Tensor[]) => kept! };
    });
    const [a, b] = tf.grads((t, u) => twice(t!, saving(u!)).sum())([x(), x().mul(3)]);
    expect([...a!.dataSync()]).toEqual(new Array(6).fill(2));
    expect([...b!.dataSync()]).toEqual([...x().mul(3).dataSync()]);
  });

  it.each([
    ['no path', () => tf.grad(() => x().sum())(x()), /Cannot compute gradient of y=f\(x\)/],
    ['dy of another dtype', () => tf.grad((t) => t)(x(), x().toInt()), /dy must have 'float32' dtype/],
    ['no xs', () => tf.grads(() => x())([]), /empty list of xs/],
  ])("throws tfjs's error: %s", (_, run, message) => {
    drive();
    expect(run).toThrow(message);
  });

  it('leaves nothing on the tape when a gradient function throws', () => {
    drive();
    const bad = tf.customGrad((t) => ({
      value: (t as tf.Tensor).square(),
      gradFunc: () => {
        throw new Error('bad gradient');
      },
    }));
    const v = x();
    const before = tf.memory().numTensors;
    expect(() => tf.grad((t) => bad(t.exp()).sum())(v)).toThrow('bad gradient');
    expect(tf.memory().numTensors).toBe(before);
  });

  it('leaves nothing on the tape when the function throws', () => {
    drive();
    const v = x();
    const before = tf.memory().numTensors;
    const bad = (t: tf.Tensor): tf.Tensor => {
      t.exp().square().sigmoid();
      throw new Error('bad function');
    };
    expect(() => tf.grad(bad)(v)).toThrow('bad function');
    expect(tf.memory().numTensors).toBe(before);
  });

  it('passes each gradient to its session as soon as it is final, and returns what the session returns', () => {
    const a = tf.variable(tf.scalar(2));
    const b = tf.variable(tf.scalar(3));
    const order: number[] = [];
    const taken: tf.Tensor[] = [];
    drive({
      begin: () => ({
        indices: [0, 1],
        weight: 0.5,
        ready(index, grad) {
          order.push(index);
          taken[index] = grad;
        },
        finish: () => taken.map((grad) => grad.mul(10)),
      }),
    });
    // b comes last in the forward pass, so its gradient is the first to be final.
    const { grads, value } = tf.variableGrads(() => a.square().mul(b) as tf.Scalar, [a, b]);
    expect(order).toEqual([1, 0]);
    expect(value.dataSync()[0]).toBe(12);
    expect(grads[a.name]!.dataSync()[0]).toBe(0.5 * 10 * 12);
    expect(grads[b.name]!.dataSync()[0]).toBe(0.5 * 10 * 4);
    a.dispose();
    b.dispose();
  });

  it('starts no session inside another gradient computation', () => {
    let sessions = 0;
    drive({
      begin: () => {
        sessions++;
        return undefined;
      },
    });
    tf.grad((t) =>
      tf
        .grad((u) => u.square().sum())(t)
        .sum(),
    )(x());
    expect(sessions).toBe(1);
  });
});

it('a kernel that the backend lacks is an error with a code that says how to train all the same', () => {
  const kernel = tf.getKernel('Cos', 'cpu');
  tf.unregisterKernel('Cos', 'cpu');
  drive();
  try {
    expect(() => tf.grad((t) => t.sin().sum())(x())).toThrow(
      expect.objectContaining({
        code: 'ACC_KERNEL_MISSING',
        help: expect.not.stringContaining('such as cpu') as string,
        details: { kernel: 'Cos', backendName: 'cpu' },
      }) as Error,
    );
  } finally {
    tf.registerKernel(kernel);
  }
  const gradient = tf.grad((t) => t.sin().sum())(tf.scalar(0));
  expect(gradient.dataSync()[0]).toBe(1);
});
