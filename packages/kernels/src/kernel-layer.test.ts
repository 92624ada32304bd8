import * as tf from '@tensorflow/tfjs';
import { MathBackendCPU } from '@tensorflow/tfjs-backend-cpu';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { hostTensor, registerKernelLayer, type KernelLayerSlots } from '@acc/contract';
import { activeLayer } from './active-layer.js';
import { gelu } from './functions/index.js';
import { kernelLayerOf } from './kernel-layer.js';
import { registerAccBackend } from './register-backend.js';

const NAME = 'mine';

beforeAll(() => {
  registerAccBackend();
  tf.registerBackend(NAME, () => new MathBackendCPU());
  tf.copyRegisteredKernels('cpu', NAME);
});
beforeEach(() => tf.setBackend(NAME));

let undo = () => {};
afterEach(() => undo());
function register(slots: KernelLayerSlots): void {
  undo = registerKernelLayer({ backendName: NAME, slotsOf: () => slots });
}

const values = (x: tf.Tensor) => [...x.dataSync()];
const layer = () => kernelLayerOf(NAME, tf.backend());
const active = activeLayer({ hasNative: false });

it('a backend without a registration uses the portable implementation', () => {
  const { backendName, device, recorder, precision, random, fixResults, fusedApply, borrow } = layer();
  expect({ backendName, device }).toEqual({ backendName: NAME, device: 'cpu' });
  expect([recorder, precision, random, fixResults, fusedApply, borrow]).toEqual(Array(6).fill(undefined));
  const x = tf.tensor1d([1, -2]);
  const native = layer().toNative(x);
  expect({ dtype: native.dtype, shape: native.shape, values: native.read() }).toEqual({
    dtype: 'float32',
    shape: [2],
    values: Float32Array.of(1, -2),
  });
  expect(values(layer().fromNative(native, 'float32'))).toEqual([1, -2]);
  expect(native.isDisposed).toBe(true);
  expect(() => native.read()).toThrow(expect.objectContaining({ code: 'ACC_TENSOR_DISPOSED' }));
  expect(values(layer().lists.norm([x]))[0]).toBeCloseTo(Math.sqrt(5));
});

it('native tensors of every element type become tensors', () => {
  const give = (...given: Parameters<typeof hostTensor>) =>
    values(layer().fromNative(hostTensor(...given), given[1] === 'bool' ? 'bool' : 'float32'));
  expect(give(Float64Array.of(0.5), 'float64', [1])).toEqual([0.5]);
  expect(give(Uint16Array.of(0x3fc0), 'bfloat16', [1])).toEqual([1.5]);
  expect(give(Uint16Array.of(0x3e00), 'float16', [])).toEqual([1.5]);
  expect(give(BigInt64Array.of(-3n), 'int64', [1])).toEqual([-3]);
  expect(give(Int8Array.of(-1, 2), 'int8', [2])).toEqual([-1, 2]);
  expect(give(Uint8Array.of(1, 0), 'bool', [2])).toEqual([1, 0]);
});

it('a registration is used while its backend is active, until it is removed', () => {
  const x = tf.tensor1d([1, 2]);
  const before = values(gelu(x));
  register({ functions: { gelu: (given) => tf.mul(given, 10) } });
  expect(values(gelu(x))).toEqual([10, 20]);
  expect(active.functions.gelu).toBeDefined();
  undo();
  expect(values(gelu(x))).toEqual(before);
  expect(active.functions.gelu).toBeUndefined();
});

it('a function that returns undefined for its inputs is computed with tfjs operators', async () => {
  const x = tf.tensor1d([1, 2]);
  const seen: string[] = [];
  register({ functions: { gelu: (_, approximate) => void seen.push(approximate) as undefined } });
  const own = values(gelu(x, { approximate: 'tanh' }));
  expect(seen).toEqual(['tanh']);
  await tf.setBackend('cpu');
  expect(own).toEqual(values(gelu(x, { approximate: 'tanh' })));
  expect(seen.length).toBe(1);
});

it('an optimizer takes each step with the layer that is active then', async () => {
  let taken = 0;
  register({
    fusedApply: (optimizer) => {
      if (optimizer.constructor !== tf.SGDOptimizer) return undefined;
      return () => void taken++;
    },
  });
  const w = tf.tensor1d([3]).variable();
  const grads = () => ({ [w.name]: tf.ones([1]) });
  const sgd = active.fusedApply!(tf.train.sgd(1))!;
  const momentum = active.fusedApply!(tf.train.momentum(1, 0))!;
  sgd(grads());
  expect([taken, values(w)]).toEqual([1, [3]]);
  momentum(grads());
  expect([taken, values(w)]).toEqual([1, [2]]);
  for (const name of ['cpu', 'acc']) {
    await tf.setBackend(name);
    sgd(grads());
  }
  expect([taken, values(w)]).toEqual([1, [0]]);
  const patched = tf.train.sgd(1);
  patched.applyGradients = () => {};
  expect(active.fusedApply!(patched)).toBeUndefined();
  w.dispose();
});

it('layers compute with the slot of their class if it accepts them', async () => {
  const seen: unknown[] = [];
  register({
    layerCalls: {
      Dense(dense, x) {
        seen.push(dense);
        return x.shape[0] === 1 ? undefined : tf.fill([x.shape[0]!, 2], 7);
      },
    },
  });
  const dense = tf.layers.dense({ units: 2, inputShape: [3], kernelInitializer: 'zeros' });
  const undoFusing = active.fuseLayers([dense]);
  const call = (rows: number) => values(dense.apply(tf.ones([rows, 3])) as tf.Tensor);
  expect(call(2)).toEqual([7, 7, 7, 7]);
  expect(call(1)).toEqual([0, 0]);
  await tf.setBackend('acc');
  expect(call(2)).toEqual([0, 0, 0, 0]);
  expect(seen).toEqual([dense, dense]);
  undoFusing();
  await tf.setBackend(NAME);
  expect(call(2)).toEqual([0, 0, 0, 0]);
});

it('unknown slots, and two registrations of one backend, are refused', () => {
  expect(() => {
    register({ fusedAply: () => undefined } as never);
    layer();
  }).toThrow(expect.objectContaining({ code: 'ACC_UNKNOWN_OPTION', help: "Did you mean 'fusedApply'?" }));
  undo();
  expect(() => {
    register({ functions: { layernorm: () => undefined } } as never);
    layer();
  }).toThrow(expect.objectContaining({ code: 'ACC_UNKNOWN_OPTION', help: "Did you mean 'layerNorm'?" }));
  const first = undo;
  expect(() => register({})).toThrow(expect.objectContaining({ code: 'ACC_KERNEL_LAYER_TAKEN' }));
  first();
  register({});
  first();
  expect(() => register({})).toThrow(expect.objectContaining({ code: 'ACC_KERNEL_LAYER_TAKEN' }));
});
