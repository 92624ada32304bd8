// A client that adds a number to each weight: `node client.ts <url> <name> <amount> [hold]`. With
// `hold` it does not answer the first round.
import { joinFederation } from '@acc/federated';
import * as tf from '@tensorflow/tfjs';

const [url, name, amount, hold] = process.argv.slice(2) as [string, string, string, string?];
await tf.setBackend('cpu');
const weights = tf.variable(tf.zeros([2, 2]), true, 'weights');
const member = await joinFederation({
  ...{ url, name, token: 'a token of the test', variables: [weights] },
  train: async ({ round, signal }) => {
    console.log(`trains ${round} ${Array.from(weights.dataSync()).join()}`);
    if (hold && round === 0) await new Promise((_, reject) => signal.addEventListener('abort', reject));
    weights.assign(tf.tidy(() => tf.add(weights, Number(amount))));
    return { samples: 1, metrics: { amount: Number(amount) } };
  },
  onAccepted: (round) => console.log(`accepted ${round}`),
  onRefused: ({ code }) => console.log(`refused ${code}`),
});
console.log(`joined ${Array.from(weights.dataSync()).join()}`);
const { status } = await member.done;
console.log(`${status} ${Array.from(weights.dataSync()).join()}`);
