// Trains layers of four experts on random rows, each rank on rows of its own. Returns, for each layer,
// how many tokens of this rank went to each expert in the last steps.
import { Accelerator } from '@acc/core';
import { moe } from '@acc/transformer';
import * as tf from '@tensorflow/tfjs';
import { disposeOptimizers } from '../../dispose-optimizers.js';

type LayerArgs = Parameters<typeof moe>[0];

const [ROWS, WIDTH, STEPS, LAST] = [128, 6, 200, 30];

export interface Args {
  readonly mesh: Readonly<Record<string, number>>;
  readonly layers: readonly LayerArgs[];
}

export default async function balance({ mesh, layers }: Args): Promise<number[][]> {
  const assignments: number[][] = [];
  for (const layer of layers) assignments.push(await assignmentsOf(mesh, layer));
  return assignments;
}

/** Numbers that repeat in no dim. */
function wave(shape: number[], phase: number): tf.Tensor {
  const size = tf.util.sizeFromShape(shape);
  return tf.tidy(() => tf.sin(tf.range(0, size).mul(1.7).add(phase)).mul(0.5).reshape(shape));
}

/** The rows favour some experts, because their mean is not 0. */
function rowsOf({ numProcesses, processIndex }: Accelerator, step: number): tf.Tensor {
  const seed = step * numProcesses + processIndex + 1;
  return tf.randomNormal([ROWS, WIDTH], 0, 1, 'float32', seed).add(wave([1, WIDTH], 0.7));
}

async function assignmentsOf(mesh: Args['mesh'], args: LayerArgs): Promise<number[]> {
  const accelerator = await Accelerator.create({ mesh });
  const layer = moe({ ...args, innerUnits: 8 });
  const input = tf.input({ shape: [WIDTH] });
  const model = tf.model({ inputs: input, outputs: layer.apply(input) as tf.SymbolicTensor });
  model.weights.forEach((weight, i) => {
    tf.tidy(() => void weight.write(wave(weight.shape as number[], i)));
  });
  const [, optimizer] = accelerator.prepare(model, tf.train.adam(0.003));
  const counts = [0, 0, 0, 0];
  for (let step = 0; step < STEPS; step++) {
    tf.tidy(() => {
      const x = rowsOf(accelerator, step);
      const wanted = tf.sin(tf.mul(x, 2));
      optimizer.minimize(() => tf.losses.meanSquaredError(wanted, model.apply(x) as tf.Tensor));
    });
    if (step < STEPS - LAST) continue;
    layer.tokensPerExpert.forEach((count, expert) => (counts[expert]! += count));
  }
  accelerator.freeMemory(model, optimizer);
  disposeOptimizers(optimizer);
  return counts;
}
