// What dropout keeps on each rank of the axis `data`: without a seed, with one seed, and by the guide's
// seed for each rank.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, setSeed } from '@acc/core';
import { reportResult } from '@acc/testkit';

const accelerator = await Accelerator.create();
const kept = () =>
  tf.tidy(() =>
    tf
      .dropout(tf.ones([64]), 0.5)
      .dataSync()
      .join(),
  );
const unseeded = kept();
setSeed(7);
const same = kept();
const { mesh } = accelerator;
const { data = 0, fsdp = 0, expert = 0 } = mesh.coordinates;
const rank = (data * mesh.size('fsdp') + fsdp) * mesh.size('expert') + expert;
setSeed(7 + 1000 * rank);
reportResult({ rank, unseeded, same, own: kept() });
await accelerator.endTraining();
