// A small GPT learns Shakespeare's "Coriolanus" character by character, then goes on by itself.
// Its weights are plain variables, so what is prepared is the optimizer and the list of weights.
//   npx acc launch -n 2 examples/char-gpt/train.ts [--epochs 20] [--layers 3] [--width 96]
import { Accelerator, DataLoader, LRScheduler, adamw, setSeed } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { readNumbers } from '../arguments.js';
import { randomNumbers } from '../random.js';
import { Gpt } from './model.js';
import { CHARACTERS, decode, encode, readText } from './text.js';

const { epochs, layers, width, length, ...sizes } = readNumbers({
  epochs: 20,
  layers: 3,
  width: 96,
  length: 64,
  'batch-size': 32,
  steps: 1_000_000,
  sample: 300,
});

const accelerator = await Accelerator.create({
  dataLoader: { splitBatches: true },
  gradientClipping: { norm: 1 },
});
setSeed(7);
const gpt = new Gpt({ vocabulary: CHARACTERS.length, width, heads: 4, layers });
const { train, heldBack } = readText(length);
const adam = adamw({ learningRate: 3e-3, weightDecay: 0.1, excludeFromWeightDecay: ['embedding'] });
const [optimizer, , data, testData] = accelerator.prepare(
  adam,
  gpt.variables,
  new DataLoader(train, {
    batchSize: sizes['batch-size'],
    shuffle: true,
    dropLast: true,
  }),
  new DataLoader(heldBack, { batchSize: heldBack.length }),
);
const stepsOfEpoch = Math.min(data.length!, sizes.steps);
const totalSteps = stepsOfEpoch * epochs;
const schedule = accelerator.prepare(
  LRScheduler.cosine(adam, { warmupSteps: Math.ceil(totalSteps / 20), totalSteps }),
);
accelerator.print(`${CHARACTERS.length} characters, ${stepsOfEpoch} steps in an epoch`);

for (let epoch = 1; epoch <= epochs; epoch++) {
  const losses: tf.Scalar[] = [];
  for await (const tokens of data) {
    losses.push(optimizer.minimize(() => lossOf(tokens), true, gpt.variables)!);
    schedule.step();
    tokens.dispose();
    if (losses.length === stepsOfEpoch) break;
  }
  const loss = await meanOverProcesses(losses);
  accelerator.print(
    `epoch ${epoch}: loss ${loss.toFixed(6)}, held-back text ${(await heldBackLoss()).toFixed(6)}`,
  );
}
accelerator.print(`\n${generate('First Citizen:\n', sizes.sample)}`);
await accelerator.endTraining();

/**
 * The mean cross-entropy of the next characters, in nats.
 *
 * @param tokens [rows, length + 1], int32.
 */
function lossOf(tokens: tf.Tensor): tf.Scalar {
  const inputs = tf.slice2d(tokens as tf.Tensor2D, [0, 0], [-1, length]);
  const targets = tf.slice2d(tokens as tf.Tensor2D, [0, 1], [-1, length]);
  return tf.losses.softmaxCrossEntropy(tf.oneHot(targets, CHARACTERS.length), gpt.logits(inputs));
}

async function heldBackLoss(): Promise<number> {
  let [sum, seen] = [0, 0];
  for await (const tokens of testData) {
    const ofRows = tf.tidy(() =>
      accelerator.gatherForMetrics(tf.stack(tf.unstack(tokens).map((row) => lossOf(tf.expandDims(row, 0))))),
    );
    for (const loss of await ofRows.data()) sum += loss;
    seen += ofRows.size;
    tf.dispose([ofRows, tokens]);
  }
  return sum / seen;
}

/** Disposes the losses. */
async function meanOverProcesses(losses: tf.Scalar[]): Promise<number> {
  const mean = tf.tidy(() => accelerator.reduce(tf.mean(tf.stack(losses)), 'mean'));
  const [value] = await mean.data();
  tf.dispose([mean, losses]);
  return value!;
}

/** Draws one character after another from the probabilities that the model gives. */
function generate(start: string, count: number): string {
  const random = randomNumbers(1);
  const tokens = [...encode(start)];
  for (let i = 0; i < count; i++) {
    const seen = tokens.slice(-length);
    const probabilities = tf.tidy(() => {
      const logits = gpt.logits(tf.tensor2d([seen], [1, seen.length], 'int32'));
      return tf.softmax(tf.slice(logits, [0, seen.length - 1, 0], [1, 1, -1]).flatten()).dataSync();
    });
    let left = random();
    const drawn = probabilities.findIndex((probability) => (left -= probability) < 0);
    tokens.push(drawn === -1 ? probabilities.length - 1 : drawn);
  }
  return decode(tokens);
}
