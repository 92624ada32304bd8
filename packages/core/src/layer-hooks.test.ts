import * as tf from '@tensorflow/tfjs';
import { afterEach, expect, it, vi } from 'vitest';
import { expectClose } from '@acc/testkit';
import { Accelerator } from './accelerator.js';
import { registerHook, type LayerHook } from './layer-hooks.js';

let accelerator: Accelerator | undefined;
afterEach(() => accelerator?.freeMemory());

const x = () => tf.tensor2d([1, 2, 3, 4], [2, 2]);
const one = () =>
  tf.sequential({
    layers: [
      tf.layers.dense({
        units: 1,
        inputShape: [2],
        useBias: false,
        kernelInitializer: 'ones',
        name: 'first',
      }),
      tf.layers.dense({ units: 1, useBias: false, kernelInitializer: 'ones', name: 'second' }),
    ],
  });
const values = (model: tf.LayersModel) => tf.tidy(() => [...(model.predict(x()) as tf.Tensor).dataSync()]);

it.each(['before', 'after'] as const)(
  'hooks added %s prepare change inputs and outputs in their order, with gradients, until they are removed',
  async (when) => {
    accelerator = await Accelerator.create({ engine: 'acc' });
    const model = one();
    const optimizer = tf.train.sgd(0.01);
    if (when === 'after') accelerator.prepare(model, optimizer);
    const layer = model.getLayer('second');
    const seen: string[] = [];
    const add = registerHook(layer, {
      preForward(of, inputs): tf.Tensor {
        seen.push(`pre ${(of as tf.layers.Layer).name}`);
        return tf.add(inputs as tf.Tensor, 1);
      },
    });
    const double = registerHook(layer, {
      preForward(_, inputs): tf.Tensor {
        seen.push('double');
        return tf.mul(inputs as tf.Tensor, 2);
      },
      postForward(_, outputs) {
        seen.push('post');
        return tf.neg(outputs as tf.Tensor);
      },
    });
    if (when === 'before') accelerator.prepare(model, optimizer);
    expect(values(model)).toEqual([-8, -16]);
    expect(seen).toEqual(['pre second', 'double', 'post']);

    const before = tf.memory().numTensors;
    tf.tidy(() => {
      optimizer.minimize(() => tf.sum(model.apply(x(), { training: true }) as tf.Tensor));
    });
    // The loss is -2 Σ (w·x + 1) v, with w = [1, 1], v = 1 and Σ x = [4, 6].
    const [w, v] = [model.getLayer('first'), layer].map((each) => each.getWeights()[0]!.dataSync());
    expectClose([...w!, ...v!], [1 + 0.08, 1 + 0.12, 1 + 0.24], { rtol: 1e-6 });
    expect(tf.memory().numTensors).toBe(before);

    layer.setWeights([tf.ones([1, 1])]);
    model.getLayer('first').setWeights([tf.ones([2, 1])]);
    double.remove();
    expect(values(model)).toEqual([4, 8]);
    add.remove();
    add.remove();
    expect(values(model)).toEqual([3, 7]);
    accelerator.freeMemory();
    expect(Object.hasOwn(layer, 'call')).toBe(false);
  },
);

/** It reads its inputs as a list, and returns one. */
class Listed extends tf.layers.Layer {
  static readonly className = 'ListedOfHooks';
  override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor[] {
    return [(inputs as tf.Tensor[])[0]!.mul(2)];
  }
}

it('a layer that reads a list of inputs gets one, and its hooks get the tensor in it', () => {
  const layer = new Listed({ inputShape: [2] });
  const model = tf.sequential({ layers: [layer] });
  const seen: unknown[] = [];
  const watching = registerHook(layer, {
    preForward: (_, inputs) => void seen.push(inputs),
    postForward: (_, outputs) => void seen.push(outputs),
  });
  expect(values(model)).toEqual([2, 4, 6, 8]);
  expect(seen.map((given) => given instanceof tf.Tensor)).toEqual([true, true]);
  const adding = registerHook(layer, { preForward: (_, inputs) => tf.add(inputs as tf.Tensor, 1) });
  expect(values(model)).toEqual([4, 6, 8, 10]);
  adding.remove();
  watching.remove();
});

it('compiled steps run without replay while a layer has a hook', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  accelerator = await Accelerator.create({ engine: 'acc' });
  const model = one();
  const step = accelerator.compile((given: tf.Tensor) => model.apply(given) as tf.Tensor);
  const run = (times: number) => {
    for (let i = 0; i < times; i++) tf.tidy(() => void step(x()));
    return step.replays;
  };
  const before = run(4);
  expect(before).toBeGreaterThan(0);
  let calls = 0;
  const hook = registerHook(model.getLayer('second'), { postForward: () => void calls++ });
  expect(run(4)).toBe(before);
  expect(calls).toBe(4);
  expect(step.reason).toContain('registerHook');
  hook.remove();
  expect(run(1)).toBe(before + 1);
  warn.mockRestore();
});

const none: LayerHook = { preForward: () => undefined };
it.each([
  [{}, none, 'ACC_INVALID_ARGUMENT'],
  [one, none, 'ACC_INVALID_ARGUMENT'],
  [tf.layers.flatten(), { forward: () => undefined }, 'ACC_UNKNOWN_OPTION'],
])('hooks need a layer and known functions (%#)', (layer, hook, code) => {
  expect(() => registerHook(layer, hook as object)).toThrowError(expect.objectContaining({ code }));
});
