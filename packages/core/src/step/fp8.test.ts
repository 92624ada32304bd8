import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Float8Options } from '@acc/amp';
import { observeCalls } from '@acc/native';
import { Accelerator } from '../accelerator.js';
import type { AcceleratorOptions } from '../options.js';

let accelerator: Accelerator;
afterEach(() => {
  accelerator.freeMemory();
  tf.disposeVariables();
  vi.restoreAllMocks();
});

const create = async (options: AcceleratorOptions = {}) =>
  (accelerator = await Accelerator.create({
    engine: 'acc',
    mixedPrecision: 'fp8',
    ...options,
    amp: { exclude: [], ...options.amp },
  }));

const random = (shape: [number, number], seed: number) => tf.randomNormal(shape, 0, 1, 'float32', seed);

/** The losses and weights of 40 windows of two micro-batches with clipping. */
async function train(options: AcceleratorOptions, isCompiled = false) {
  await create({ gradientAccumulationSteps: 2, gradientClipping: { norm: 1 }, ...options });
  const kernel = (seed: number) => tf.initializers.glorotNormal({ seed });
  const net = tf.sequential({
    layers: [
      tf.layers.dense({ units: 32, activation: 'relu', inputShape: [8], kernelInitializer: kernel(1) }),
      tf.layers.dense({ units: 4, kernelInitializer: kernel(2) }),
    ],
  });
  const [model, optimizer] = accelerator.prepare(net, tf.train.adam(0.01));
  const x = random([16, 8], 3);
  const y = tf.oneHot(tf.argMax(tf.matMul(x, random([8, 4], 4)), 1), 4);
  const step = (x: tf.Tensor, y: tf.Tensor) =>
    optimizer.minimize(
      () => tf.losses.softmaxCrossEntropy(y, model.apply(x, { training: true }) as tf.Tensor) as tf.Scalar,
      true,
    )!;
  const compiled = isCompiled ? accelerator.compile(step) : undefined;
  const losses: number[] = [];
  for (let i = 0; i < 80; i++) {
    const loss = accelerator.accumulate(() => (compiled ?? step)(x, y));
    losses.push(loss.dataSync()[0]!);
  }
  if (compiled) expect(compiled.replays).toBeGreaterThan(0);
  const weights = net.getWeights().map((weight) => weight.dataSync());
  accelerator.freeMemory();
  return { losses, weights };
}

it.each([{ recipe: 'tensorwise' }, { recipe: 'rowwise' }, { scaling: 'delayed', amaxHistory: 4 }] as const)(
  '$recipe$scaling trains as float32 does, and replayed steps alike',
  async (fp8) => {
    const wide = (await train({ mixedPrecision: 'no', amp: {} })).losses;
    const amp = { fp8 };
    const narrow = await train({ amp });
    expect(narrow.losses).not.toEqual((await train({ mixedPrecision: 'bf16', amp: {} })).losses);
    expect(wide.at(-1)).toBeLessThan(0.5 * wide[0]!);
    narrow.losses.forEach((loss, i) => expect(Math.abs(loss - wide[i]!)).toBeLessThan(0.05 * wide[0]!));
    expect(await train({ amp }, true)).toEqual(narrow);
    expect(await train({ amp, checkpointEvery: 1 })).toEqual(narrow);
  },
);

it('rounds each weight to 8 bits in its three products, and says once that a CPU emulates them', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  await create({ amp: { exclude: ['b'] } });
  const weights = ['a', 'b'].map((name, i) => tf.variable(random([6, 6], i), true, name));
  accelerator.prepare(weights);
  const x = random([4, 6], 3);
  const rounded: unknown[] = [];
  const end = observeCalls((name, args) => {
    if (name === 'aten::_to_copy' && String(args[1]).startsWith('float8')) rounded.push(args[1]);
  });
  const [a, b] = weights as [tf.Variable<tf.Rank.R2>, tf.Variable<tf.Rank.R2>];
  const input = tf.variable(x, true, 'input') as tf.Variable<tf.Rank.R2>;
  accelerator.backward(() => tf.matMul(tf.matMul(input, a), b).sum(), [a, b, input]);
  end();
  expect(rounded.toSorted()).toEqual([
    ...Array<string>(4).fill('float8_e4m3fn'),
    ...Array<string>(2).fill('float8_e5m2'),
  ]);
  const said = warn.mock.calls.filter(([message]) => String(message).includes('emulate'));
  expect(said).toHaveLength(1);
});

it('trains with an empty batch, and with weights beside each other of one input', async () => {
  await create();
  const weights = [1, 2].map((seed) => tf.variable(random([6, 5], seed)) as tf.Variable<tf.Rank.R2>);
  accelerator.prepare(weights);
  const x = tf.zeros([0, 6]) as tf.Tensor2D;
  const { grads } = accelerator.backward(
    () => tf.addN(weights.map((weight) => tf.matMul(x, weight))).sum() as tf.Scalar,
    weights,
  );
  for (const grad of Object.values(grads)) expect(grad.dataSync()).toEqual(new Float32Array(30));
});

it('refuses unknown recipes and options, and gathers in another type', async () => {
  const refused = (code: string) => expect.objectContaining({ code }) as Error;
  const recipe = 'blockwise' as 'rowwise';
  await expect(create({ amp: { fp8: { recipe } } })).rejects.toThrowError(refused('ACC_INVALID_OPTION'));
  const unknown = { scale: 2 } as object;
  await expect(create({ amp: { fp8: unknown } })).rejects.toThrowError(refused('ACC_UNKNOWN_OPTION'));
  const deterministic = { deterministic: true, amp: { fp8: { scaling: 'delayed' } } } as const;
  await expect(create(deterministic)).rejects.toThrowError(refused('ACC_INVALID_OPTION'));
  const ofRows = { scaling: 'delayed', recipe: 'rowwise' } as const;
  await expect(create({ amp: { fp8: ofRows } })).rejects.toThrowError(refused('ACC_INVALID_OPTION'));
  await expect(
    create({ strategy: 'fsdp', fsdp: { mixedPrecision: { param: 'bf16' } } }),
  ).rejects.toThrowError(
    expect.objectContaining({ help: expect.stringContaining('with fp8') as unknown }) as Error,
  );
});

describe('delayed scaling', () => {
  /** The largest number of a product of a row by a prepared weight of 1, for steps with inputs. */
  const products = async (inputs: readonly number[], fp8: Float8Options) => {
    await create({ amp: { fp8 } });
    const weight = tf.variable(tf.ones([1, 1])) as tf.Variable<tf.Rank.R2>;
    const [, optimizer] = accelerator.prepare([weight], tf.train.sgd(0));
    return inputs.map((input) =>
      tf.tidy(
        () =>
          optimizer
            .minimize(() => tf.matMul(tf.tensor2d([[input]]), weight).sum() as tf.Scalar, true)!
            .dataSync()[0],
      ),
    );
  };

  it('takes scales from the largest magnitude of earlier steps, which cuts off larger numbers', async () => {
    const fp8 = { scaling: 'delayed', amaxHistory: 2 } as const;
    // The last but one step has forgotten 8.
    expect(await products([2, 8, 16, 1, 1, 16], fp8)).toEqual([2, 2, 8, 1, 1, 1]);
    accelerator.freeMemory();
    expect(await products([2, 8, 16, 1, 1, 16], {})).toEqual([2, 8, 16, 1, 1, 16]);
  });

  it.each([
    ['names', 'w'],
    ['other names', 'v'],
  ])(
    'goes on from a checkpoint with %s as without a stop, whatever else the process has',
    async (_, name) => {
      const fp8 = { scaling: 'delayed', amaxHistory: 3 } as const;
      const folder = mkdtempSync(join(tmpdir(), 'acc-fp8-'));
      const run = async (from: number, to: number, act: (of: Accelerator) => Promise<unknown>) => {
        await create({ amp: { fp8 } });
        const weights = ['a', 'b'].map((end, i) =>
          tf.variable(random([6, 6], i + 1), true, (from ? name : 'w') + end),
        );
        // A step is offered it, too.
        if (from === 0) tf.variable(random([6, 6], 3), true, 'other');
        const [, optimizer] = accelerator.prepare(weights, tf.train.momentum(0.1, 0.9));
        if (from > 0) await accelerator.loadState(folder);
        for (let i = from; i < to; i++) {
          const x = random([5, 6], i + 1).mul(8 - i) as tf.Tensor2D;
          const [a, b] = weights as [tf.Variable<tf.Rank.R2>, tf.Variable<tf.Rank.R2>];
          const loss = () =>
            tf
              .matMul(tf.tanh(tf.matMul(x, a)), b)
              .square()
              .mean() as tf.Scalar;
          tf.tidy(() => void optimizer.minimize(loss));
        }
        await act(accelerator);
        const values = weights.map((weight) => weight.dataSync());
        accelerator.freeMemory();
        tf.disposeVariables();
        return values;
      };
      try {
        const whole = await run(0, 8, async () => {});
        await run(0, 4, (of) => of.saveState(folder));
        expect(await run(4, 8, async () => {})).toEqual(whole);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );

  it('forgets an infinity', async () => {
    const fp8 = { scaling: 'delayed', amaxHistory: 1 } as const;
    expect(await products([2, Infinity, 4, 5], fp8)).toEqual([2, 2, 4, 4]);
  });
});
