// Trains on the device that DEVICE names: `cpu`, or `late` for the device of tests, of which each
// rank has its own. Reports losses, weights, and what a step does once its memory is warm.
import * as tf from '@tensorflow/tfjs';
import { observeReplays, registerAccBackend } from '@acc/kernels';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';
import { countsOf, loadLateDevice, setDelays, type DeviceCounts } from '../late-device.js';

export interface Way {
  readonly name: string;
  readonly options: AcceleratorOptions;
  readonly isCompiled?: boolean;
}

export interface Trained {
  readonly device: string;
  readonly losses: number[];
  readonly weights: number[][];
  /** The sums over the last steps, none of which reads its loss. */
  readonly counts: DeviceCounts;
  /** The number of the last steps. */
  readonly steps: number;
  /** The number of the last steps that were replayed. */
  readonly replays: number;
}

const STEPS = 4;
const BATCH = 4;
/** The rows of the embedding. */
const IDS = 10;
const rank = Number(process.env['RANK']);
const shared: AcceleratorOptions = process.env['COLLECTIVE']
  ? { collective: JSON.parse(process.env['COLLECTIVE']) as AcceleratorOptions['collective'] }
  : {};
const isLate = process.env['DEVICE'] === 'late';

if (isLate) {
  loadLateDevice();
  setDelays(rank + 1, Number(process.env['DELAYS'] ?? 0));
  registerAccBackend({ device: `late:${rank}` });
}

function batch(step: number): [tf.Tensor, tf.Tensor] {
  return tf.tidy(() => {
    const first = BATCH * (2 * step + rank);
    const waves = tf.sin(tf.range(first * 12, (first + BATCH) * 12)).reshape([BATCH, 12]);
    const ids = waves
      .add(1)
      .mul(IDS / 2)
      .floor()
      .clipByValue(0, IDS - 1);
    return [ids, waves.sum(1, true).tanh()];
  });
}

function modelOf(): tf.Sequential {
  const dense = (seed: number, units: number, given: object) =>
    tf.layers.dense({ units, kernelInitializer: tf.initializers.glorotNormal({ seed }), ...given });
  return tf.sequential({
    layers: [
      tf.layers.embedding({
        inputDim: IDS,
        outputDim: 4,
        inputLength: 12,
        embeddingsInitializer: tf.initializers.randomUniform({ minval: -0.5, maxval: 0.5, seed: 4 }),
      }),
      tf.layers.flatten(),
      dense(1, 16, { activation: 'relu' }),
      tf.layers.layerNormalization(),
      dense(2, 16, { activation: 'tanh' }),
      dense(3, 1, {}),
    ],
  });
}

async function train({ options, isCompiled }: Way): Promise<Trained> {
  const accelerator = await Accelerator.create({ engine: 'acc', seed: 3, ...options, ...shared });
  const built = modelOf();
  const [model, optimizer] = accelerator.prepare(built, tf.train.adam(0.01));
  const plain = (xs: tf.Tensor, ys: tf.Tensor) =>
    optimizer.minimize(
      () => tf.losses.meanSquaredError(ys, model.predict(xs) as tf.Tensor).asScalar(),
      true,
    )!;
  const step = isCompiled ? accelerator.compile(plain) : plain;
  const losses: number[] = [];
  const batches = Array.from({ length: 2 * STEPS }, (_, i) => batch(i));
  const runStep = (i: number): tf.Tensor => tf.tidy(() => step(...batches[i]!));
  for (let i = 0; i < STEPS; i++) {
    const loss = runStep(i);
    losses.push(loss.dataSync()[0]!);
    loss.dispose();
  }
  const kept: tf.Tensor[] = [];
  let replays = 0;
  observeReplays(() => replays++);
  const run = () => {
    for (let i = STEPS; i < 2 * STEPS; i++) kept.push(runStep(i));
  };
  const counts = isLate ? await countsOf(run) : (run(), { launches: 0, waits: 0, reads: 0, uploads: 0 });
  for (const loss of kept) losses.push(loss.dataSync()[0]!);
  const weights = built.getWeights().map((w) => [...w.dataSync()]);
  const { device } = accelerator;
  tf.dispose([kept, batches]);
  accelerator.freeMemory();
  built.dispose();
  return { device, losses, weights, counts, steps: STEPS, replays };
}

const results: Trained[] = [];
for (const way of JSON.parse(process.argv[2]!) as Way[]) {
  try {
    results.push(await train(way));
  } catch (error) {
    throw new Error(`${way.name} on ${process.env['DEVICE']} failed`, { cause: error });
  }
}
reportResult(results);
