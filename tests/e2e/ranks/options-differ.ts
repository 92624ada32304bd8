// Creates Accelerators with different options on the two ranks, and prepares optimizers with different
// settings. Reports which differences are detected.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, adamw, sgdw, type AccError, type AcceleratorOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';

const rank = Number(process.env['RANK']);
const of = <T>(first: T, second: T): T => (rank === 0 ? first : second);
const plugin = (name: string, hook: 'transform' | 'afterStep') => ({ name, [hook]() {} });

const cases: Record<string, AcceleratorOptions> = {
  // This case comes first: later, `tfjs` would be the backend `acc`, which is active then.
  engine: { engine: of('acc', 'tfjs') },
  mixedPrecision: { mixedPrecision: of('no', 'bf16') },
  amp: { amp: { lossScale: { initial: of(1, 2) } } },
  gradientAccumulationSteps: { gradientAccumulationSteps: of(1, 2) },
  gradientClipping: { gradientClipping: of({ norm: 1 }, {}) },
  checkpointEvery: of<AcceleratorOptions>({}, { checkpointEvery: 2 }),
  seed: { seed: rank },
  dataLoader: { dataLoader: { splitBatches: of(true, false) } },
  deterministic: { deterministic: of<true | object>(true, { virtualShards: 8 }) },
  autoLog: { autoLog: of<boolean | object>(true, { every: 3 }) },
  checkpoint: of<AcceleratorOptions>({}, { checkpoint: {} }),
  plugins: { plugins: of([plugin('a', 'transform')], []) },
  'seed, dataLoader': { seed: rank, dataLoader: { shuffle: of(true, false) } },
  // Options that may differ, and options that equal their defaults.
  '': {
    seed: of<number | undefined>(undefined, 0),
    amp: of<AcceleratorOptions['amp']>(undefined, { lossScale: {} }),
    autoLog: of<AcceleratorOptions['autoLog']>(true, { every: 10, onAlert: () => {} }),
    deterministic: of<AcceleratorOptions['deterministic']>(true, { virtualShards: 4 }),
    checkpoint: { dir: `checkpoints-${rank}` },
    projectDir: `runs-${rank}`,
    logWith: of<string[] | undefined>(['jsonl'], undefined),
    plugins: of([plugin('progress', 'afterStep')], []),
  },
};

class OwnSgd extends tf.SGDOptimizer {
  static override readonly className = 'OwnSgd';
}

const optimizers: Record<string, tf.Optimizer> = {
  'optimizer.class': of(tf.train.sgd(0.1), new OwnSgd(0.1)),
  'optimizer.learningRate': tf.train.adam(of(0.1, 0.2)),
  'optimizer.beta2, optimizer.epsilon': tf.train.adam(0.1, 0.9, of(0.99, 0.999), of(1e-7, 1e-8)),
  'optimizer.weightDecay': adamw({ weightDecay: of(0, 0.1) }),
  'optimizer.excludeFromWeightDecay': adamw({ excludeFromWeightDecay: of(['a'], ['b']) }),
  // The configs of these throw.
  'optimizer.class, optimizer.learningRate': of<tf.Optimizer>(
    adamw({ learningRate: 0.1, excludeFromWeightDecay: () => true }),
    sgdw({ learningRate: 0.2, excludeFromWeightDecay: () => true }),
  ),
};

const found: Record<string, string> = {};

async function report(name: string, run: () => unknown): Promise<void> {
  try {
    await run();
    found[name] = '';
  } catch (error) {
    const { code, details } = error as AccError;
    const names = (details['options'] as string[] | undefined) ?? [];
    found[name] =
      code === 'ACC_OPTIONS_DIFFER' ? names.join(', ').replaceAll('AcceleratorOptions.', '') : code;
  }
}

for (const [name, options] of Object.entries(cases)) {
  await report(name, async () => (await Accelerator.create(options)).freeMemory());
}
const accelerator = await Accelerator.create();
for (const [name, optimizer] of Object.entries(optimizers)) {
  await report(name, () => accelerator.prepare(optimizer));
}
await accelerator.endTraining();
reportResult(found);
