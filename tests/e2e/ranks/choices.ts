// Multiplies matrices of several sizes, in a different order on each rank, and reports which
// kernels were chosen.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { kernelChoices } from '@acc/kernels';
import { reportResult } from '@acc/testkit';

const accelerator = await Accelerator.create({ engine: 'acc' });
const sizes = [32, 64, 100, 128, 200];
if (accelerator.processIndex > 0) sizes.reverse();
for (const size of sizes) {
  tf.tidy(() => {
    tf.matMul(tf.ones([size, 2 * size]), tf.ones([2 * size, size]), false, false);
    tf.conv2d(tf.ones<tf.Rank.R4>([4, 8, 8, size]), tf.ones<tf.Rank.R4>([3, 3, size, 8]), 1, 'same');
  });
}
const choices = kernelChoices().map(({ family, shapes, candidate, measuredMs }) => ({
  name: `${family} ${shapes}`,
  candidate,
  isMeasured: Object.keys(measuredMs).length > 0,
}));
reportResult(choices.sort((a, b) => (a.name < b.name ? -1 : 1)));
await accelerator.endTraining();
