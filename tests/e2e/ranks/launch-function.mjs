// The example of packages/cli/README.md, on three ranks.
import { launch } from '@acc/cli';

const losses = await launch(
  async (rate) => {
    const tf = await import('@tensorflow/tfjs');
    const { Accelerator } = await import('@acc/core');
    const accelerator = await Accelerator.create();
    const loss = accelerator.reduce(tf.scalar(rate * accelerator.processIndex), 'sum');
    await accelerator.endTraining();
    return loss.dataSync()[0];
  },
  { numProcesses: 3, args: [0.5] },
);
console.log(JSON.stringify(losses));
