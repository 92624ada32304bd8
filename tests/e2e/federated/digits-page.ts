// Runs in a page: joins, and trains on the digits that the page's address names.
import { joinFederation } from '@acc/federated';
import * as tf from '@tensorflow/tfjs';
import { createModel, PLAN, toTensors, trainDigits } from './digits.js';

// The part of the page that is used; the other tests run in Node.js.
declare const location: { readonly search: string };
declare const document: { title: string; readonly body: { textContent: string } };

const parameters = new URLSearchParams(location.search);
const parameter = (name: string) => parameters.get(name)!;
const show = (text: string) => {
  document.title = text;
  document.body.textContent = text;
};

async function run(): Promise<void> {
  await tf.setBackend(parameter('backend'));
  const images = new Float32Array(
    await (await fetch(`/images?classes=${parameter('classes')}`)).arrayBuffer(),
  );
  const labels = (await (await fetch(`/labels?classes=${parameter('classes')}`)).json()) as number[];
  const data = toTensors(tf, { images, labels });
  // Other weights than the coordinator's, whose weights arrive when it joins.
  const model = createModel(tf, 500);
  const { localSteps, batchSize } = PLAN;
  const seed = Number(parameter('seed'));
  const member = await joinFederation({
    ...{ url: parameter('url'), token: parameter('token'), name: parameter('name'), model },
    train: ({ round }) => {
      const loss = trainDigits(tf, model, data, { round, steps: localSteps, batchSize, seed });
      show(`round ${round}: loss ${loss.toFixed(4)}`);
      return { samples: data.count, metrics: { loss } };
    },
  });
  const { status, accepted } = await member.done;
  const sum = model.getWeights().reduce((total, weight) => total + weight.sum().dataSync()[0]!, 0);
  show(JSON.stringify({ status, accepted, backend: tf.getBackend(), sum }));
}

run().catch((error: unknown) => show(`failed: ${error instanceof Error ? error.stack : String(error)}`));
