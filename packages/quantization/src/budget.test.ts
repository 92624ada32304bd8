import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { seededRandom } from '@acc/testkit';
import { pickedWithin, type Candidate } from './budget.js';
import { prepareQat, quantize, quantizeVariable } from './index.js';
import type { QatOptions, QuantizeOptions, QuantizeVariableOptions } from './index.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

/** The least noise of all choices that fit. */
function bestOfAll(bytes: number, lists: readonly (readonly Candidate<number>[])[]): number {
  const [list, ...others] = lists;
  if (!list) return 0;
  return Math.min(
    ...list
      .filter((each) => each.bytes <= bytes)
      .map((each) => each.noise + bestOfAll(bytes - each.bytes, others)),
  );
}

it('a choice fits, and is nearly the best of all', () => {
  const random = seededRandom(3);
  let [found, best] = [0, 0];
  for (let run = 0; run < 50; run++) {
    const lists = Array.from({ length: 5 }, () => {
      const size = 1 + Math.floor(8 * random());
      const noise = random();
      return [4.25, 4.5, 5, 8.1].map((bits, i) => ({
        settings: i,
        bytes: (bits * size) / 8,
        noise: noise / 4 ** (bits - 4),
      }));
    });
    const least = lists.reduce((sum, [first]) => sum + first!.bytes, 0);
    expect(pickedWithin(0.99 * least, lists)).toBeUndefined();
    const bytes = least * (1 + 0.8 * random());
    const picked = pickedWithin(bytes, lists)!;
    expect(picked.reduce((sum, each) => sum + each.bytes, 0)).toBeLessThanOrEqual(bytes);
    found += picked.reduce((sum, each) => sum + each.noise, 0);
    best += bestOfAll(bytes, lists);
  }
  expect(found).toBeLessThan(1.2 * best);
});

describe('quantize with bitsPerWeight', () => {
  /** The weights of `rough` have one large value in each group of 32. */
  function modelOf(): tf.Sequential {
    const model = tf.sequential({
      layers: [
        tf.layers.dense({ units: 64, name: 'even', inputShape: [128], useBias: false }),
        tf.layers.dense({ units: 128, name: 'small', useBias: false }),
        tf.layers.dense({ units: 64, name: 'rough', useBias: false }),
        tf.layers.dense({ units: 3, name: 'odd', useBias: false }),
        tf.layers.dense({ units: 2, name: 'head', useBias: false }),
      ],
    });
    tf.tidy(() => {
      const outliers = tf.concat([tf.fill([1, 64], 20), tf.zeros([31, 64])]);
      const rough = model.getLayer('rough');
      rough.setWeights([tf.add(rough.getWeights()[0]!, tf.tile(outliers, [4, 1]))]);
    });
    return model;
  }

  const total = (reports: readonly { bits: number; bytes: number }[]) =>
    (8 * reports.reduce((sum, { bytes }) => sum + bytes, 0)) /
    reports.reduce((sum, { bytes, bits }) => sum + (8 * bytes) / bits, 0);

  it.each([4.6, 5, 6, 9])(
    'of %d, layers have no more on average, and each the better the more',
    async (limit) => {
      const model = modelOf();
      const reports = await quantize(model, { bitsPerWeight: limit });
      expect(total(reports)).toBeLessThanOrEqual(limit);
      // Its three values in a group of no format.
      expect(reports.at(-1)!.bits).toBeGreaterThan(8);
      const even = modelOf();
      const least = await quantize(even, { weights: 'int4', granularity: { group: 64 }, exclude: ['head'] });
      const noise = (list: typeof reports) =>
        list.slice(0, 4).reduce((sum, { sqnr }) => sum + 10 ** (-sqnr / 10), 0);
      if (limit >= 5) expect(noise(reports)).toBeLessThan(noise(least));
      model.dispose();
      even.dispose();
    },
  );

  it('is refused for fewer bits than int4 needs, and beside a format', async () => {
    const model = modelOf();
    const before = tf.memory().numTensors;
    const codes: unknown[] = [];
    for (const options of [
      { bitsPerWeight: 1.58 },
      { bitsPerWeight: 5, weights: 'int8' },
      { bitsPerWeight: 5, activations: 'dynamic' },
      { bitsPerWeight: 0 },
      {},
    ]) {
      await quantize(model, options as QuantizeOptions).catch(({ code }: { code: string }) =>
        codes.push(code),
      );
    }
    expect(codes).toEqual(Array.from({ length: 5 }, () => 'ACC_INVALID_OPTION'));
    await expect(quantize(model, { bitsPerWeight: 1.58 })).rejects.toThrow(
      /1\.58 is less than the 4\.\d\d bits/,
    );
    await expect(quantize(model, { bitsPerWeight: 4.1 })).rejects.not.toThrow(/1 or 2 bits/);
    expect(tf.memory().numTensors).toBe(before);
    model.dispose();
  });
});

it.each(['ternary', 'int1', '1-bit', '1.58bit', 'binary'])(
  'weights: %s are refused with why',
  async (weights) => {
    const options = { weights } as unknown as QuantizeOptions & QuantizeVariableOptions & QatOptions;
    const refused = expect.objectContaining({
      code: 'ACC_INVALID_OPTION',
      message: expect.stringMatching(
        /loses most of what the model has learned|cannot be trained yet/,
      ) as string,
    }) as Error;
    await expect(quantize({}, options)).rejects.toThrow(refused);
    expect(() => quantizeVariable({} as tf.Variable, options)).toThrow(refused);
    expect(() => prepareQat({}, options)).toThrow(refused);
  },
);
