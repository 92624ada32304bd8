import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it } from 'vitest';
import { linearCrossEntropy } from '@acc/kernels';
import { operator, setFloat32Precision } from '@acc/native';
import { Accelerator } from '../accelerator.js';
import type { AcceleratorOptions } from '../options.js';

let accelerator: Accelerator;
afterEach(() => accelerator.freeMemory());

const create = async (options: AcceleratorOptions) =>
  (accelerator = await Accelerator.create({ engine: 'acc', ...options }));

const random = (shape: [number, number], seed: number) => tf.randomNormal(shape, 0, 1, 'float32', seed);

function createModel(): tf.Sequential {
  const kernel = (seed: number) => tf.initializers.glorotNormal({ seed });
  return tf.sequential({
    layers: [
      tf.layers.dense({ units: 32, activation: 'relu', inputShape: [8], kernelInitializer: kernel(1) }),
      tf.layers.batchNormalization(),
      tf.layers.dense({ units: 4, kernelInitializer: kernel(2) }),
    ],
  });
}

/** The losses of a loop with windows of two micro-batches and with clipping. */
async function losses(options: AcceleratorOptions, steps = 60): Promise<number[]> {
  await create({ gradientAccumulationSteps: 2, gradientClipping: { norm: 1 }, ...options });
  const [model, optimizer] = accelerator.prepare(createModel(), tf.train.adam(0.01));
  const x = random([16, 8], 3);
  const y = tf.oneHot(tf.argMax(tf.matMul(x, random([8, 4], 4)), 1), 4);
  const result: number[] = [];
  for (let step = 0; step < steps; step++) {
    const loss = accelerator.accumulate(() =>
      optimizer.minimize(() => {
        const logits = model.apply(x, { training: true }) as tf.Tensor2D;
        return tf.losses.softmaxCrossEntropy(y, logits) as tf.Scalar;
      }, true)!,
    );
    result.push(loss.dataSync()[0]!);
    loss.dispose();
    expect(accelerator.optimizerStepWasSkipped).toBe(false);
  }
  accelerator.freeMemory();
  return result;
}

describe('mixed precision', () => {
  it.each(['bf16', 'fp16'] as const)(
    '%s trains like float32, in windows and with clipping',
    async (mixedPrecision) => {
      const wide = await losses({});
      const short = await losses({ mixedPrecision });
      expect(wide.at(-1)).toBeLessThan(0.5 * wide[0]!);
      expect(short).not.toEqual(wide);
      short.forEach((loss, i) => expect(Math.abs(loss - wide[i]!)).toBeLessThan(0.02 * wide[0]!));
    },
  );

  it('refuses a promise from autocast, whose later operators would compute in float32', async () => {
    await create({ mixedPrecision: 'bf16' });
    const isAsync = expect.objectContaining({ code: 'ACC_AUTOCAST_ASYNC' }) as Error;
    for (const enabled of [true, false]) {
      expect(() => accelerator.autocast(() => Promise.resolve(1), { enabled })).toThrowError(isAsync);
    }
    expect(accelerator.autocast(() => 1)).toBe(1);
  });

  it('refuses 8-bit and 16-bit floats on a backend without them', async () => {
    const unsupported = expect.objectContaining({ code: 'ACC_PRECISION_UNSUPPORTED' });
    await tf.setBackend('cpu');
    await expect(Accelerator.create({ engine: 'tfjs', mixedPrecision: 'fp8' })).rejects.toThrowError(
      unsupported,
    );
    await expect(Accelerator.create({ engine: 'tfjs', mixedPrecision: 'bf16' })).rejects.toThrowError(
      unsupported,
    );
    await create({});
  });
});

describe('float32Precision', () => {
  const [full, mm] = [operator('aten::full'), operator('aten::mm')];
  /** Of libtorch: of this size, this project's own product may be the fastest, which rounds no factors. */
  const product = (): number => {
    using a = full([64, 64], 1 + 2 ** -12, 'float32');
    using b = full([64, 64], 1, 'float32');
    using sums = mm(a, b);
    return Number(sums.read('float32')[0]);
  };
  /** Whether this CPU rounds when libtorch is told to. Asks libtorch directly. */
  const roundsFactors = (precision: 'bf16' | 'tf32', exact: number) => {
    try {
      setFloat32Precision('mkldnn', precision);
      return product() !== exact;
    } catch {
      return false;
    } finally {
      setFloat32Precision('mkldnn', 'default');
    }
  };
  const isUnsupported = (error: unknown) => (error as { code?: string }).code === 'ACC_PRECISION_UNSUPPORTED';

  it.each(['bf16', 'tf32'] as const)(
    '%s applies to one Accelerator, if the device supports it',
    async (precision) => {
      await create({});
      const exact = product();
      const isThere = roundsFactors(precision, exact);
      accelerator.freeMemory();
      const created = create({ amp: { float32Precision: precision } });
      if (isThere) await created;
      else await expect(created).rejects.toSatisfy(isUnsupported);
      expect(product() !== exact).toBe(isThere);
      accelerator.freeMemory();
      await create({});
      expect(product()).toBe(exact);
    },
  );

  it('is refused on a backend without a choice, and under another name', async () => {
    const float32Precision = 'medium' as never;
    await expect(create({ amp: { float32Precision } })).rejects.toThrowError(
      expect.objectContaining({ code: 'ACC_INVALID_OPTION' }) as Error,
    );
    await tf.setBackend('cpu');
    const options = { engine: 'tfjs', amp: { float32Precision: 'tf32' } } as const;
    await expect(Accelerator.create(options)).rejects.toSatisfy(isUnsupported);
    await create({});
  });
});

describe('fp16', () => {
  it('skips a step with non-finite gradients, and continues with a smaller scale', async () => {
    await create({ mixedPrecision: 'fp16', amp: { lossScale: { initial: 2 ** 20 } } });
    const weight = tf.variable(tf.ones([4, 1]));
    const [, optimizer] = accelerator.prepare([weight], tf.train.sgd(0.1));
    // The gradient of the product overflows float16 at this scale, so it is not finite.
    const step = (size: number) => {
      tf.tidy(() => void optimizer.minimize(() => tf.matMul(tf.fill([1, 4], size), weight as never).sum()));
      return accelerator.optimizerStepWasSkipped;
    };
    const before = [...weight.dataSync()];
    const skipped: boolean[] = [];
    for (let i = 0; i < 8; i++) skipped.push(step(1));
    const count = skipped.indexOf(false);
    expect(count).toBeGreaterThan(1);
    expect(skipped.slice(count)).not.toContain(true);
    const taken = skipped.length - count;
    expect([...weight.dataSync()]).toEqual(
      before.map((value) => expect.closeTo(value - 0.1 * taken, 4) as number),
    );
    weight.dispose();
  });

  it('keeps gradients that would underflow in float16 without a scale', async () => {
    const gradient = async (initial: number) => {
      await create({ mixedPrecision: 'fp16', amp: { lossScale: { initial } } });
      const weight = tf.variable(tf.ones([2, 1]));
      const [, optimizer] = accelerator.prepare([weight], tf.train.sgd(2 ** 20));
      const scaled = tf.tidy(() => {
        optimizer.minimize(
          () =>
            tf
              .matMul(tf.ones([1, 2]), weight as never)
              .sum()
              .mul(2 ** -26) as tf.Scalar,
        );
        return weight.sub(1).dataSync()[0]!;
      });
      weight.dispose();
      accelerator.freeMemory();
      return scaled;
    };
    expect(await gradient(1)).toBe(0);
    expect(await gradient(2 ** 16)).toBeCloseTo(-(2 ** -6), 6);
    await create({});
  });
});

it('the loss of linearCrossEntropy is at least 0 in bf16, whose logits are rounded', async () => {
  await create({ mixedPrecision: 'bf16' });
  const [hidden, weight] = [
    tf.tensor2d([[20.06, 0]]),
    tf.tensor2d([
      [1, 0],
      [0, 1],
    ]),
  ];
  const labels = tf.tensor1d([0], 'int32');
  const loss = accelerator.autocast(() => linearCrossEntropy(hidden, weight, labels)).dataSync()[0]!;
  expect(loss).toBeGreaterThanOrEqual(0);
  expect(loss).toBeLessThan(1e-3);
});
