// What a long training uses: 16 bits, accumulated and clipped gradients, a schedule, checkpoints from
// which it resumes, figures, metrics over all processes, an early end and an exported model.
//   npx acc launch -n 2 --max-restarts 3 examples/complete/train.ts
// Stop it with `kill`, which saves first, or with Ctrl-C, and start it again.
import { Accelerator, DataLoader, LRScheduler, adamw, setSeed } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { readNumbers } from '../arguments.js';
import { createModel, readDigits } from '../digits.js';

const {
  epochs,
  rows,
  'stop-after': stopAfter,
} = readNumbers({
  epochs: 6,
  rows: 8640,
  // Ends the program after so many epochs, as the time limit of a cluster would.
  'stop-after': 1000,
});
const ENOUGH = 0.985;

const accelerator = await Accelerator.create({
  dataLoader: { splitBatches: true },
  mixedPrecision: 'bf16',
  gradientAccumulationSteps: 2,
  gradientClipping: { norm: 1 },
  checkpoint: {
    dir: 'complete-run/checkpoints',
    async: true,
    keepLast: 2,
    keepBest: { metric: 'accuracy', mode: 'max', count: 1 },
  },
  logWith: ['jsonl'],
  autoLog: { every: 10 },
  projectDir: 'complete-run',
});

setSeed(7);
const { train, heldBack } = readDigits(rows);
const adam = adamw({ learningRate: 3e-3, weightDecay: 0.05, excludeFromWeightDecay: ['bias'] });
const [model, optimizer, data, testData] = accelerator.prepare(
  createModel(),
  adam,
  new DataLoader(train, { batchSize: 48, shuffle: true }),
  new DataLoader(heldBack, { batchSize: 480 }),
);
const totalSteps = Math.ceil(data.length! / accelerator.gradientAccumulationSteps) * epochs;
const schedule = accelerator.prepare(
  LRScheduler.cosine(adam, { warmupSteps: Math.ceil(totalSteps / 10), totalSteps }),
);

const run = await accelerator.loadState('latest', { ifPresent: true });
if (run) accelerator.print(`goes on from ${run.path}`);
await accelerator.initTrackers('complete', { epochs, rows, totalSteps });

const first = run?.epoch ?? 0;
for (let epoch = first; epoch < Math.min(epochs, first + stopAfter); epoch++) {
  for await (const { xs, ys } of data) {
    accelerator.accumulate(() => {
      optimizer.minimize(() =>
        tf.losses.softmaxCrossEntropy(tf.oneHot(ys, 10), model.apply(xs) as tf.Tensor2D),
      );
      schedule.step();
    });
    tf.dispose([xs, ys]);
  }
  const accuracy = await accuracyOnHeldBack();
  accelerator.log({ 'test/accuracy': accuracy });
  accelerator.print(`epoch ${epoch + 1}: accuracy ${(100 * accuracy).toFixed(2)} %`);
  await accelerator.saveState(undefined, { metrics: { accuracy } });
  if (accuracy >= ENOUGH) accelerator.setTrigger();
  if (accelerator.checkTrigger()) break;
}
await accelerator.saveModel(model, 'complete-run/model');
await accelerator.endTraining();

/** The share of the held-back digits that are recognised. */
async function accuracyOnHeldBack(): Promise<number> {
  let [right, seen] = [0, 0];
  for await (const { xs, ys } of testData) {
    const hits = tf.tidy(() => {
      const digits = tf.argMax(model.predict(xs) as tf.Tensor2D, 1);
      return accelerator.gatherForMetrics(tf.equal(digits, ys));
    });
    for (const isRight of await hits.data()) right += isRight;
    seen += hits.size;
    tf.dispose([hits, xs, ys]);
  }
  return right / seen;
}
