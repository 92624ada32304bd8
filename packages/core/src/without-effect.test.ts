import * as tf from '@tensorflow/tfjs';
import type { StepInfo } from '@acc/contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Accelerator } from './accelerator.js';
import { resolveOptions, type AcceleratorOptions } from './options.js';
import { withoutEffect } from './without-effect.js';

let warnings: string[] = [];
let accelerator: Accelerator;
beforeEach(() => {
  warnings = [];
  vi.spyOn(console, 'warn').mockImplementation((message: string) => void warnings.push(message));
});
afterEach(() => {
  vi.restoreAllMocks();
  accelerator.freeMemory();
  tf.disposeVariables();
});

const w = () => tf.tidy(() => tf.variable(tf.scalar(1)));

/** The warnings while `body` trains one variable. */
async function said(options: AcceleratorOptions, body: (step: () => void) => unknown): Promise<string[]> {
  accelerator = await Accelerator.create(options);
  const variable = w();
  const optimizer = accelerator.prepare(tf.train.sgd(0.1));
  await body(() => optimizer.minimize(() => variable.square().asScalar(), false, [variable]));
  optimizer.dispose();
  return warnings.filter((message) => /^acc: [\w.]+ (has no effect|is \d)/.test(message));
}

describe('an option that has nothing to act on at the first step is told of once', () => {
  const twice = (step: () => void) => {
    step();
    step();
  };

  it.each<[string, AcceleratorOptions]>([
    ['gradientAccumulationSteps', { gradientAccumulationSteps: 2 }],
    ['checkpointEvery', { checkpointEvery: 1 }],
    ['dataLoader', { dataLoader: { splitBatches: true } }],
    ['autoLog', { autoLog: true, logWith: ['console'] }],
    ['logWith', { logWith: ['console'] }],
    ['amp.lossScale', { amp: { lossScale: { initial: 8 } } }],
    ['amp.lossScale', { mixedPrecision: 'bf16', amp: { lossScale: { initial: 8 } } }],
    ['amp.lower', { amp: { lower: ['Add'] } }],
    ['amp.fp8.amaxHistory', { mixedPrecision: 'fp8', amp: { fp8: { amaxHistory: 4 } } }],
    ['amp.fp8', { mixedPrecision: 'int8', amp: { fp8: { recipe: 'rowwise' } } }],
    ['context.attention', { context: { attention: 'ring' } }],
    ['context.attention', { mesh: { context: 1 }, context: { attention: 'heads' } }],
    ['pipeline', { pipeline: { microBatches: 4 } }],
    ['pipeline', { mesh: { data: 1 }, pipeline: { schedule: 'gpipe' } }],
    ['ddp.bucketBytes', { strategy: 'single', ddp: { bucketBytes: 8 } }],
  ])('%s', async (name, options) => {
    const messages = await said(options, twice);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatch(new RegExp(`^acc: ${name} `));
  });

  it('and one that has is not', async () => {
    const options: AcceleratorOptions = {
      mixedPrecision: 'fp16',
      amp: { lossScale: { initial: 8 }, float32Precision: 'ieee' },
      strategy: 'single',
      mesh: { pipeline: 1 },
      pipeline: { microBatches: 2 },
      collective: { timeoutMs: 5_000 },
      gradientAccumulationSteps: 2,
      checkpointEvery: 1,
      dataLoader: { splitBatches: true },
    };
    const messages = await said(options, (step) => {
      const layers = [tf.layers.dense({ units: 1, inputShape: [1] })];
      accelerator.prepare(tf.sequential({ layers }), [tf.zeros([4, 1])]);
      for (let k = 0; k < 2; k++) accelerator.accumulate(step);
    });
    expect(messages).toEqual([]);
  });
});

it.each([
  ['no axis tensor', {}, true, 1],
  ['a size of it', { mesh: { tensor: 1 } }, true, 0],
  ['nothing cut', {}, false, 0],
] as const)('cut variables on a mesh with %s', (_, options, hasCuts, count) => {
  const used = { hasModel: () => true, hasData: () => true, hasTrackers: () => true, isInWindow: () => true };
  const warned: string[] = [];
  const plugin = withoutEffect(resolveOptions(options), { ...used, hasCuts: () => hasCuts }, (message) =>
    warned.push(message),
  );
  for (let step = 0; step < 2; step++) plugin.afterStep!({ isInFit: false } as StepInfo);
  expect(warned.filter((message) => message.includes('parallelize has no effect'))).toHaveLength(count);
});
