// A process with an Accelerator that joins: `node digits-process.ts <url> <token> <classes> <seed>`.
import { Accelerator } from '@acc/core';
import { joinFederation } from '@acc/federated';
import * as tf from '@tensorflow/tfjs';
import { createModel, PLAN, toTensors, trainDigits } from './digits.js';
import { readDigits } from './read-digits.js';

const [url, token, classes, seed, count] = process.argv.slice(2) as [string, string, string, string, string];
const accelerator = await Accelerator.create();
const model = accelerator.prepare(createModel(tf, 700));
const data = toTensors(tf, readDigits(classes.split(',').map(Number), 0, Number(count)));
const { localSteps, batchSize } = PLAN;
const member = await joinFederation({
  ...{ url, token, name: 'process', model },
  train: ({ round }) => {
    const loss = trainDigits(tf, model, data, { round, steps: localSteps, batchSize, seed: Number(seed) });
    return { samples: data.count, metrics: { loss } };
  },
});
const { status, accepted } = await member.done;
console.log(JSON.stringify({ status, accepted, backend: tf.getBackend() }));
await accelerator.endTraining();
