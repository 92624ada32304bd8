// Trains one model after another, with `tf.disposeVariables()` in between. Arguments: a folder for
// checkpoints, and the tfjs backends (acc | cpu). Reports the weights of each round, and the
// numbers of tensors and bytes after it, by backend and kind of loop.
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';
import { batchOf, lossOf, makeModel, makeOptimizer, weightsOf } from './small-program.js';

const [folder, ...backends] = process.argv.slice(2) as [string, ...('acc' | 'cpu')[]];
const ROUNDS = 6;

interface Round {
  readonly weights: number[][];
  readonly tensors: number;
  /** Native bytes. 0 on backends that do not count them. */
  readonly bytes: number;
}

async function sweep(
  options: AcceleratorOptions,
  train: (accelerator: Accelerator, round: number) => Promise<tf.Sequential>,
): Promise<Round[]> {
  const accelerator = await Accelerator.create(options);
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    if (round % 2 === 1) tf.engine().startScope();
    const weights = weightsOf(await train(accelerator, round));
    tf.disposeVariables();
    if (round % 2 === 1) tf.engine().endScope();
    const memory = tf.memory() as tf.MemoryInfo & { allocatedBytes?: number };
    rounds.push({ weights, tensors: memory.numTensors, bytes: memory.allocatedBytes ?? 0 });
  }
  accelerator.freeMemory();
  return rounds;
}

function step(accelerator: Accelerator, model: tf.Sequential, optimizer: tf.Optimizer, i: number): void {
  tf.tidy(() => {
    const batch = batchOf(i);
    accelerator.accumulate(() => void optimizer.minimize(() => lossOf(model, batch)));
  });
}

async function sweepsOn(backend: 'acc' | 'cpu'): Promise<Record<string, Round[]>> {
  if (backend === 'cpu') await tf.setBackend('cpu');
  const engine = backend === 'cpu' ? 'tfjs' : 'acc';
  const runs: Record<string, Round[]> = {};
  // Ranks have the same rows, so that the statistics of the first rank are those of one process.
  runs['minimize'] = await sweep({ engine, ddp: { batchNorm: 'broadcast' } }, async (accelerator, round) => {
    const [model, optimizer] = accelerator.prepare(makeModel(true), makeOptimizer('adam'));
    for (let i = 0; i < 3; i++) step(accelerator, model, optimizer, i);
    if (round === ROUNDS - 1) {
      // Freed variables are not part of the run.
      const dir = join(folder, `${backend}-${accelerator.numProcesses}`);
      await accelerator.saveState(dir);
      step(accelerator, model, optimizer, 9);
      await accelerator.loadState(dir);
    }
    step(accelerator, model, optimizer, 3);
    return model;
  });

  runs['fit'] = await sweep(
    { engine, ddp: { batchNorm: 'sync' }, dataLoader: { splitBatches: true, shuffle: false } },
    async (accelerator) => {
      const model = makeModel(true);
      model.compile({ optimizer: makeOptimizer('adam'), loss: 'meanSquaredError' });
      accelerator.prepare(model);
      const { xs, ys } = batchOf(0);
      await model.fit(xs, ys, { batchSize: 6, epochs: 2, shuffle: false, verbose: 0 });
      tf.dispose([xs, ys]);
      return model;
    },
  );

  // An open window is discarded together with its variables.
  runs['window'] = await sweep({ engine, gradientAccumulationSteps: 2 }, async (accelerator) => {
    const [model, optimizer] = accelerator.prepare(makeModel(), makeOptimizer('adam'));
    for (let i = 0; i < 3; i++) step(accelerator, model, optimizer, i);
    return model;
  });

  return runs;
}

const runs: Record<string, object> = {};
for (const backend of backends) runs[backend] = await sweepsOn(backend);
reportResult(runs);
await (await Accelerator.create()).endTraining();
