import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Plugin, RunForward } from '@acc/contract';
import { liveTensors } from '@acc/native';
import { expectClose } from '@acc/testkit';
import { Accelerator } from '../accelerator.js';
import { checkpoint } from '../index.js';

let accelerator: Accelerator;
let runForward: RunForward;

/** Stores saved tensors as arrays of numbers. */
const offloading: Plugin = {
  name: 'offloading',
  tape: {
    pack(tensor) {
      const values = tensor.dataSync().slice();
      return { unpack: () => tf.tensor(values, tensor.shape, tensor.dtype), dispose: () => {} };
    },
  },
};

async function create(...plugins: Plugin[]): Promise<void> {
  const asks: Plugin = { name: 'asks', attach: (context) => void ({ runForward } = context) };
  accelerator = await Accelerator.create({ engine: 'acc', plugins: [asks, ...plugins] });
}

afterEach(() => {
  accelerator.freeMemory();
  tf.disposeVariables();
});

const MICRO_BATCHES = 4;
const ROWS = 3;
const input = (i: number) => tf.sin(tf.range(0, ROWS * 5).add(i * 20)).reshape([ROWS, 5]) as tf.Tensor2D;
const count = () => [tf.memory().numTensors, tf.memory().numDataBuffers, liveTensors()];

/** A network of two stages. */
function stages(
  wrap: (layer: (x: tf.Tensor) => tf.Tensor, x: tf.Tensor) => tf.Tensor = (layer, x) => layer(x),
) {
  const weight = (shape: [number, number], seed: number) =>
    tf.variable(tf.randomNormal<tf.Rank.R2>(shape, 0, 0.5, 'float32', seed));
  const [first, second] = [weight([5, 6], 1), weight([6, 2], 2)];
  const one = (x: tf.Tensor) => wrap((given) => tf.tanh(tf.matMul(given as tf.Tensor2D, first)), x);
  const two = (h: tf.Tensor) =>
    wrap((given) => tf.sigmoid(tf.matMul(given as tf.Tensor2D, second)), h)
      .square()
      .mean() as tf.Scalar;
  return { first, second, one, two };
}

type Stages = ReturnType<typeof stages>;

/** The gradients of all micro-batches together, computed by tfjs in one pass. */
function expected({ first, second, one, two }: Stages): number[][] {
  return tf.tidy(() => {
    const loss = () =>
      tf.addN(Array.from({ length: MICRO_BATCHES }, (_, i) => two(one(input(i))))) as tf.Scalar;
    const { grads } = tf.variableGrads(loss, [first, second]);
    return [first, second].map(({ name }) => [...grads[name]!.dataSync()]);
  });
}

/**
 * The same gradients by stages: all micro-batches go forward, then all go backward, in reverse or
 * in forward order.
 */
function byStages({ first, second, one, two }: Stages, order: 'last first' | 'first first'): number[][] {
  return tf.tidy(() => {
    const passes = Array.from({ length: MICRO_BATCHES }, (_, i) => {
      const ofOne = runForward(() => one(input(i)), [first]);
      const [h] = ofOne.outputs as [tf.Tensor];
      // Each stage receives a separate tensor.
      const received = h.clone();
      h.dispose();
      const ofTwo = runForward(() => two(received), [received, second]);
      received.dispose();
      return { ofOne, ofTwo };
    });
    const sums = [tf.zerosLike(first as tf.Tensor), tf.zerosLike(second as tf.Tensor)];
    for (const { ofOne, ofTwo } of order === 'last first' ? passes.reverse() : passes) {
      const [dh, dSecond] = ofTwo.backward([tf.scalar(1)]) as [tf.Tensor, tf.Tensor];
      const [dFirst] = ofOne.backward([dh]) as [tf.Tensor];
      sums[0] = sums[0]!.add(dFirst);
      sums[1] = sums[1]!.add(dSecond);
    }
    return sums.map((sum) => [...sum.dataSync()]);
  });
}

describe.each([
  ['plainly', [], undefined],
  ['with saved tensors packed', [offloading], undefined],
  [
    'with activation checkpoints',
    [],
    (layer: (x: tf.Tensor) => tf.Tensor, x: tf.Tensor) => checkpoint(layer, [x]),
  ],
] as const)('two stages with several micro-batches in flight, %s,', (_, plugins, wrap) => {
  beforeEach(() => create(...plugins));

  it.each(['last first', 'first first'] as const)(
    "give tfjs's gradients, and leave nothing behind: %s",
    (order) => {
      const model = stages(wrap);
      const inOnePiece = expected(model);
      byStages(model, order).forEach((values, i) =>
        expectClose(values, inOnePiece[i]!, { rtol: 1e-5, atol: 1e-7 }),
      );
      const before = count();
      byStages(model, order);
      expect(count()).toEqual(before);
    },
  );
});

describe('a forward pass whose backward comes later', () => {
  beforeEach(() => create());

  it('keeps tensors until its backward or dispose frees them', () => {
    const { first, one } = stages();
    const x = input(0);
    const dy = tf.ones([ROWS, 6]);
    const run = () => {
      const pass = runForward(() => one(x), [first]);
      tf.dispose([...pass.outputs]);
      return pass;
    };
    tf.dispose(run().backward([dy])[0]!);
    const before = count();
    const passes = Array.from({ length: 3 }, run);
    const perPass = (tf.memory().numTensors - before[0]!) / 3;
    expect(perPass).toBeGreaterThan(0);
    tf.dispose(passes[1]!.backward([dy])[0]!);
    expect(tf.memory().numTensors).toBe(before[0]! + 2 * perPass);
    passes[0]!.dispose();
    expect(tf.memory().numTensors).toBe(before[0]! + perPass);
    passes[2]!.dispose();
    expect(count()).toEqual(before);
    tf.dispose([x, dy]);
  });

  it('allows one backward', () => {
    const w = tf.variable(tf.scalar(3));
    const pass = runForward(() => w.square(), [w]);
    const dy = tf.scalar(1);
    expect(pass.backward([dy])[0]!.dataSync()[0]).toBe(6);
    expect(() => pass.backward([dy])).toThrowError(expect.objectContaining({ code: 'ACC_TAPE_USED' }));
    const other = runForward(() => w.square(), [w]);
    other.dispose();
    expect(() => other.backward([dy])).toThrowError(expect.objectContaining({ code: 'ACC_TAPE_USED' }));
  });

  it('can start from some of several outputs, also from one that is an input', () => {
    const [a, b] = [tf.variable(tf.scalar(3)), tf.variable(tf.scalar(5))];
    const f = () => [a.square(), a.mul(b), b] as tf.Tensor[];
    const dys = [tf.scalar(1), null, tf.scalar(7)];
    const read = (grads: (tf.Tensor | null)[]) => grads.map((grad) => grad && grad.dataSync()[0]);
    expect(read(runForward(f, [a, b]).backward(dys))).toEqual([6, 7]);
    expect(read(runForward(f, [a, b]).backward([null, tf.scalar(2), null]))).toEqual([10, 6]);
    expect(read(runForward(f, [a, b]).backward([tf.scalar(1), null, null]))).toEqual([6, null]);
    // The caller still owns the gradients that it gave.
    expect(dys[2]!.dataSync()[0]).toBe(7);
  });

  it('refuses gradients that do not fit, and still allows backward', () => {
    const w = tf.variable(tf.ones([2]));
    const pass = runForward(() => w.square(), [w]);
    const invalid = expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }) as Error;
    expect(() => pass.backward([])).toThrowError(invalid);
    expect(() => pass.backward([tf.ones([3])])).toThrowError(invalid);
    expect([...pass.backward([tf.ones([2])])[0]!.dataSync()]).toEqual([2, 2]);
  });

  it('is refused inside another gradient computation', () => {
    const w = tf.variable(tf.scalar(3));
    const nested = expect.objectContaining({ code: 'ACC_GRADIENT_NESTED' }) as Error;
    expect(() => tf.variableGrads(() => runForward(() => w, [w]).outputs[0] as tf.Scalar, [w])).toThrowError(
      nested,
    );
  });

  it('leaves nothing behind if its function or gradient throws', () => {
    const w = tf.variable(tf.ones([2]));
    const before = count();
    const bad = (): never => {
      throw new Error('bad function');
    };
    expect(() => runForward(() => (w.square().exp(), bad()), [w])).toThrow('bad function');
    expect(count()).toEqual(before);
    const withBadGradient = tf.customGrad((x) => ({ value: (x as tf.Tensor).clone(), gradFunc: bad }));
    const pass = runForward(() => withBadGradient(w.square()).exp(), [w]);
    tf.dispose([...pass.outputs]);
    const dy = tf.ones([2]);
    expect(() => pass.backward([dy])).toThrow('bad function');
    dy.dispose();
    expect(count()).toEqual(before);
  });
});

const disposeAll = (grads: (tf.Tensor | null)[]) => grads.forEach((grad) => grad?.dispose());

describe.each([
  ['plain', []],
  ['offloaded', [offloading]],
] as const)('a backward pass in halves, %s', (_, plugins) => {
  beforeEach(() => create(...plugins));

  it.each([false, true])('gives the gradients of one pass, with a checkpoint: %s', (isCheckpointed) => {
    const [w, v, u] = [
      tf.variable(tf.randomNormal([5, 6], 0, 0.5, 'float32', 1)),
      tf.variable(tf.randomNormal([36], 0, 0.5, 'float32', 2)),
      tf.variable(tf.randomNormal([6], 0, 0.5, 'float32', 3)),
    ];
    const x = input(0);
    const hidden = (given: tf.Tensor) =>
      tf.tanh(tf.matMul(given as tf.Tensor2D, w as unknown as tf.Tensor2D).add(u));
    // A product with a reshaped weight, a weight that is used twice, and a result of weights alone.
    const f = (): tf.Tensor[] => {
      const h = isCheckpointed ? checkpoint(hidden, [x]) : hidden(x);
      return [tf.matMul(h as tf.Tensor2D, v.square().reshape([6, 6]) as tf.Tensor2D).mul(u), u.square(), h];
    };
    const dys = [tf.ones([ROWS, 6]), tf.ones([6]), tf.ones([ROWS, 6]).mul(0.5)];
    const xs = [x, w, v, u];
    const taken = () => {
      const pass = runForward(f, xs);
      tf.dispose([...pass.outputs]);
      return pass;
    };
    const halves = () => {
      const pass = taken();
      return [...pass.backwardTo(1, dys), ...pass.backwardRest()];
    };
    disposeAll(halves());
    const before = count();
    const full = taken().backward(dys);
    const both = halves();
    both.forEach((grad, i) => expectClose(grad!.dataSync(), full[i]!.dataSync(), { rtol: 1e-6, atol: 1e-7 }));
    disposeAll([...full, ...both]);
    const left = taken();
    disposeAll(left.backwardTo(1, dys));
    left.dispose();
    expect(count()).toEqual(before);
    expect(() => left.backwardRest()).toThrowError(expect.objectContaining({ code: 'ACC_TAPE_USED' }));
    tf.dispose([x, dys]);
  });

  it('computes no gradient of a weight in its first half', async () => {
    const w = tf.variable(tf.ones([5, 6]));
    const x = input(0);
    const pass = runForward(() => tf.matMul(x, w as unknown as tf.Tensor2D), [x, w]);
    const dy = tf.ones([ROWS, 6]);
    const products = async (compute: () => (tf.Tensor | null)[]) => {
      const { kernels } = await tf.profile(() => tf.dispose(compute() as tf.Tensor[]) as never);
      return kernels.filter(({ name }) => name.includes('MatMul')).map((each) => `${each.outputShapes[0]}`);
    };
    expect(await products(() => pass.backwardTo(1, [dy]))).toEqual([`${ROWS},5`]);
    expect(await products(() => pass.backwardRest())).toEqual(['5,6']);
  });
});

describe('gradients that are products', () => {
  beforeEach(() => create());

  /** The positions among `xs` that `sums` is asked for, and the gradients. */
  function asked(f: () => tf.Tensor, xs: readonly tf.Tensor[], isInHalves: boolean) {
    const positions: number[] = [];
    const sums = {
      ofProduct(index: number, gradient: () => tf.Tensor) {
        positions.push(index);
        return gradient().mul(10);
      },
    };
    const pass = runForward(f, xs);
    const dys = pass.outputs.map((y) => tf.onesLike(y));
    const grads = isInHalves
      ? [...pass.backwardTo(1, dys), ...pass.backwardRest(sums)]
      : pass.backward(dys, 1, sums);
    return { positions, grads: grads.map((grad) => [...grad!.dataSync()]) };
  }

  it.each([false, true])('are computed by the given function, and no others: in halves %s', (isInHalves) => {
    tf.tidy(() => {
      const matrix = (seed: number) => tf.randomNormal<tf.Rank.R2>([3, 3], 0, 1, 'float32', seed);
      const [x, once, twice, penalized, bias] = [matrix(1), matrix(2), matrix(3), matrix(4), matrix(5)];
      const xs = [x, once, twice, penalized, bias];
      const f = () => {
        const product = x.matMul(once).matMul(twice).relu().matMul(twice).matMul(penalized);
        return product.add(bias).square().mean().add(penalized.square().mean());
      };
      const { positions, grads } = asked(f, xs, isInHalves);
      expect(positions).toEqual(isInHalves ? [0] : [0, 1]);
      const plain = tf
        .grads(() => f())(xs)
        .map((grad) => [...grad.dataSync()]);
      const isTaken = [!isInHalves, true, false, false, false];
      grads.forEach((grad, i) =>
        expectClose(grad, isTaken[i] ? plain[i]!.map((value) => 10 * value) : plain[i]!, {
          rtol: 1e-5,
          atol: 1e-6,
        }),
      );
    });
  });
});
