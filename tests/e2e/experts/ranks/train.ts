// Trains a model with experts on the mesh of the first argument, in several ways, and saves each run
// into the folder of the second.
import { join } from 'node:path';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';
import * as tf from '@tensorflow/tfjs';
import { batchOf, CASES, expertsOf, lossOf, modelOf, optimizerOf, STEPS, type Trained } from '../model.js';

export interface OnRank extends Trained {
  readonly leaked: number;
  readonly leakedBytes: number;
  /** The elements of expert weights, and of state for them, that this rank holds. */
  readonly heldElements: number;
  readonly gathered: number[];
}

const mesh = JSON.parse(process.argv[2]!) as Record<string, number>;
const folder = process.argv[3]!;
const results: Record<string, OnRank> = {};
for (const [name, given] of Object.entries(CASES)) {
  const { microBatches = 1, clipNorm, checkpointEvery } = given;
  const accelerator = await Accelerator.create({
    mesh,
    gradientAccumulationSteps: microBatches,
    ...(clipNorm !== undefined && { gradientClipping: { norm: clipNorm } }),
    ...(checkpointEvery !== undefined && { checkpointEvery }),
  });
  const { processIndex: rank } = accelerator;
  const [model, optimizer] = accelerator.prepare(modelOf(given), optimizerOf());
  const losses: number[] = [];
  let dropped = 0;
  const memory = () => tf.memory() as tf.MemoryInfo & { allocatedBytes: number };
  let before = memory();
  for (let step = 0; step < STEPS; step++) {
    if (step === 3) before = memory();
    tf.tidy(() => {
      for (let micro = 0; micro < microBatches; micro++) {
        const batch = batchOf(step * microBatches + micro, rank);
        const own = accelerator.accumulate(() => optimizer.minimize(() => lossOf(model, batch), true)!);
        dropped += expertsOf(model).droppedTokens;
        const mean = accelerator.reduce(own, 'mean');
        if (micro === microBatches - 1) losses.push(mean.dataSync()[0]!);
      }
    });
  }
  const after = memory();
  const total = accelerator.reduce(tf.scalar(dropped), 'sum').dataSync()[0]!;
  const state = accelerator.getStateDict(model);
  const names = model.weights.map(({ originalName }) => originalName);
  const weights = Object.fromEntries(
    Object.values(state).map((value, i) => [names[i]!, Array.from(value.dataSync())]),
  );
  tf.dispose(state);
  // A read outside of a step has all experts, too.
  const kernel = model.weights.find(({ originalName }) => originalName.endsWith('c_proj/kernel'))!;
  const gathered = Array.from(
    model.weights
      .find(({ originalName }) => originalName.includes('experts/c_fc/kernel'))!
      .read()
      .dataSync(),
  );
  void kernel;
  await accelerator.saveState(join(folder, name.replaceAll(' ', '-')));
  results[name] = {
    losses,
    weights,
    dropped: total,
    leaked: after.numTensors - before.numTensors,
    leakedBytes: after.allocatedBytes - before.allocatedBytes,
    heldElements: 0,
    gathered,
  };
  accelerator.freeMemory(model, optimizer);
  tf.disposeVariables();
}
reportResult(results);
