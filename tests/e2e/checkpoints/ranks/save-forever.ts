// Saves repeatedly, under new names and to one place, and prints complete saves, until it is
// killed.
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { Checkpoints, resolveCheckpointOptions } from '@acc/checkpoint';
import { SingleCollective } from '@acc/collective';
import { kernelLayerOf } from '@acc/kernels';

const [folder, first] = process.argv.slice(2) as [string, string];
await tf.setBackend('cpu');
const { state } = kernelLayerOf('cpu', tf.backend());
const options = resolveCheckpointOptions({ dir: join(folder, 'named'), keepLast: 2 });
const checkpoints = new Checkpoints({ options, layer: state, collective: new SingleCollective() });

for (let step = Number(first); ; step++) {
  // Every element is the number of the step, so an element of another save would be detected.
  const weights = [tf.fill([2_000], step), tf.fill([30_000], step), tf.scalar(step)];
  const request = {
    info: { step, epoch: 0, savedAt: new Date().toISOString(), metrics: {} },
    shared: { step, weights },
    local: {},
    tensors: [],
  };
  await checkpoints.save(undefined, request, step % 3 === 0);
  if (step % 3 !== 0) writeSync(1, `named ${step}\n`);
  await checkpoints.save(join(folder, 'one'), request, false);
  writeSync(1, `one ${step}\n`);
  tf.dispose(weights);
}
