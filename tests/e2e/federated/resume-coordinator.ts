// A coordinator that a test kills: `node resume-coordinator.ts <folder> <port> <rounds> [hold]`. It
// stays in the round `hold`, before it saves that.
import { Accelerator } from '@acc/core';
import { startCoordinator } from '@acc/federated';
import { jsonlTracker } from '@acc/tracker';
import * as tf from '@tensorflow/tfjs';

const [folder, port, rounds, hold] = process.argv.slice(2) as [string, string, string, string?];
// The weights lie on the backend of the Accelerator.
const accelerator = await Accelerator.create();
const weights = tf.variable(tf.tensor2d([1, 2, 3, 4], [2, 2]), true, 'weights');
const coordinator = await startCoordinator({
  ...{ variables: [weights], rounds: Number(rounds), port: Number(port), token: 'a token of the test' },
  ...{ minClients: 2, checkpoint: { dir: `${folder}/checkpoints` }, resume: true },
  ...{ trackers: [jsonlTracker()], projectDir: folder },
  onRound: async ({ round }) => {
    console.log(`done ${round} ${Array.from(weights.dataSync()).join()}`);
    if (String(round) === hold) await new Promise(() => {});
    return { first: weights.dataSync()[0]! };
  },
});
console.log(`listening ${coordinator.port} ${coordinator.round} ${Array.from(weights.dataSync()).join()}`);
const { status } = await coordinator.done;
console.log(`${status} ${Array.from(weights.dataSync()).join()}`);
await accelerator.endTraining();
// No handle is left: the program ends here by itself.
