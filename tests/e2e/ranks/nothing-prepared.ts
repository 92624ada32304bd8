// Programs that prepare nothing, one after another, each with a new Accelerator. Reports the warnings
// of each, and the program's own output of the last one, which ends without `endTraining`.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, type AcceleratorOptions } from '@acc/core';
import { generate, gpt2, moe } from '@acc/transformer';
import { reportResult } from '@acc/testkit';

type Layer = tf.layers.Layer;

const dense = (): Layer[] => [tf.layers.dense({ units: 3, inputShape: [2] }), tf.layers.dense({ units: 1 })];
const network = (layers = dense()) => tf.sequential({ layers });
const [xs, ys] = [tf.ones([4, 2]), tf.zeros([4, 1])];
const lossOf = (model: tf.LayersModel, x: tf.Tensor = xs) =>
  tf.losses
    .meanSquaredError(tf.zerosLike(model.apply(x) as tf.Tensor), model.apply(x) as tf.Tensor)
    .asScalar();

function train(model: tf.LayersModel, steps = 3, x?: tf.Tensor): void {
  const optimizer = tf.train.adam(0.1);
  for (let step = 0; step < steps; step++) optimizer.minimize(() => lossOf(model, x));
}

/** Averages gradients as a program does that reduces them itself. */
function trainByHand(accelerator: Accelerator, send: 'each' | 'packed'): void {
  const model = network();
  const optimizer = tf.train.sgd(0.1);
  const { grads } = optimizer.computeGradients(() => lossOf(model));
  const names = Object.keys(grads);
  if (send === 'each') return optimizer.applyGradients(accelerator.reduce(grads, 'mean'));
  const flat = accelerator.reduce(tf.concat(names.map((name) => grads[name]!.flatten())), 'mean');
  const parts = tf.split(flat, names.map((name) => grads[name]!.size)); // prettier-ignore
  optimizer.applyGradients(
    Object.fromEntries(names.map((name, i) => [name, parts[i]!.reshape(grads[name]!.shape)])),
  );
}

async function fit(): Promise<void> {
  const model = network();
  model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
  await model.fit(xs, ys, { epochs: 2, verbose: 0 });
}

type Batches = AsyncIterable<{ xs: tf.Tensor }>;

/** A prepared model and optimizer, over batches of data that is not prepared. */
async function trainOver(accelerator: Accelerator, batches: Batches): Promise<void> {
  const [model, optimizer] = accelerator.prepare(network(), tf.train.sgd(0.1));
  for await (const { xs } of batches) optimizer.minimize(() => lossOf(model, xs));
}
const rowsFrom = (first: number) => tf.range(first, first + 8).reshape([4, 2]);
const loaderOf = (rows: tf.Tensor) => new DataLoader({ xs: rows }, { batchSize: 1 });

const metrics = (accelerator: Accelerator) => {
  accelerator.reduce(tf.scalar(1), 'mean');
  accelerator.gather(tf.ones([2]));
};

const batchesFrom = (first: number) => tf.split(rowsFrom(first), 2);
async function trainOnEach(
  accelerator: Accelerator,
  batches: tf.data.Dataset<tf.TensorContainer>,
): Promise<void> {
  const [model, optimizer] = accelerator.prepare(network(), tf.train.sgd(0.1));
  await batches.forEachAsync((x) => void optimizer.minimize(() => lossOf(model, x as tf.Tensor)));
}

const mesh = (sizes: object): AcceleratorOptions => ({ mesh: sizes });
type Program = readonly [(accelerator: Accelerator) => unknown, AcceleratorOptions?];
const programs: Readonly<Record<string, Program>> = {
  'a loop': [() => train(network())],
  'a loop that reduces its losses': [
    (accelerator) => {
      train(network());
      metrics(accelerator);
    },
  ],
  'a loop with prepared data': [
    async (accelerator) => {
      const model = network();
      const data = accelerator.prepare(new DataLoader({ xs }, { batchSize: 1 }));
      for await (const batch of data) train(model, 1, batch.xs);
    },
  ],
  fit: [fit],
  'the axis pipeline': [() => train(network()), mesh({ pipeline: 2 })],
  'the axis tensor': [() => train(network()), mesh({ tensor: 2 })],
  'the axis expert': [
    () => train(network([moe({ experts: 2, inputShape: [3, 2] })]), 3, tf.ones([2, 3, 2])),
    mesh({ expert: 2 }),
  ],
  'a DataLoader that is not prepared': [(accelerator) => trainOver(accelerator, loaderOf(rowsFrom(0)))],
  'a tf.data dataset that is not prepared': [
    (accelerator) => trainOnEach(accelerator, tf.data.array(tf.unstack(rowsFrom(0))).batch(2)),
  ],
  'a tf.data dataset of ready batches that is not prepared': [
    (accelerator) => trainOnEach(accelerator, tf.data.array(batchesFrom(0))),
  ],
  // From here on, no warning.
  'a tf.data dataset of which the program takes the batches of its rank': [
    (accelerator) =>
      trainOnEach(accelerator, tf.data.array(batchesFrom(0)).skip(accelerator.processIndex).take(1)),
  ],
  'a DataLoader over rows that the program divides': [
    (accelerator) => trainOver(accelerator, loaderOf(rowsFrom(accelerator.processIndex))),
  ],
  'a DataLoader on one rank only, beside prepared data': [
    async (accelerator) => {
      const loader = loaderOf(rowsFrom(0));
      if (accelerator.isMainProcess) await loader[Symbol.asyncIterator]().next();
      await trainOver(accelerator, accelerator.prepare(loader));
    },
  ],
  'a batch that every rank looks at, beside prepared data': [
    async (accelerator) => {
      const loader = loaderOf(rowsFrom(0));
      await loader[Symbol.asyncIterator]().next();
      await trainOver(accelerator, accelerator.prepare(loader));
    },
  ],
  'uneven inputs that are not prepared, and steps after them': [
    async (accelerator) => {
      const [model, optimizer] = accelerator.prepare(network(), tf.train.sgd(0.1));
      const step = () => void optimizer.minimize(() => lossOf(model));
      await accelerator.joinUnevenInputs(() => {
        for (let count = accelerator.processIndex; count < 100; count++) step();
      });
      step();
    },
  ],
  'no step': [metrics],
  'steps inside noSync': [
    async (accelerator) => {
      accelerator.noSync(() => train(network(), 101));
      await accelerator.noSync(fit);
    },
  ],
  'ranks that train alone by their strategy': [() => train(network(), 101), { strategy: 'single' }],
  'gradients that the program averages': [(accelerator) => trainByHand(accelerator, 'each')],
  'gradients that the program averages at once': [(accelerator) => trainByHand(accelerator, 'packed')],
  'steps before prepare': [
    (accelerator) => {
      const model = network();
      train(model);
      const optimizer = accelerator.prepare(tf.train.sgd(0.1));
      optimizer.minimize(() => lossOf(model));
    },
  ],
  'an optimizer that is not prepared, beside a model that is': [
    (accelerator) => train(accelerator.prepare(network())),
  ],
  'another model, beside one that is prepared': [
    (accelerator) => {
      accelerator.prepare(network());
      train(network());
    },
  ],
  generate: [
    () => generate(gpt2({ vocab_size: 7, n_positions: 8, n_embd: 4, n_layer: 1, n_head: 2 }), [[1, 2]], { maxNewTokens: 2 }), // prettier-ignore
  ],
};

const warnings: string[] = [];
const found: Record<string, readonly string[]> = {};
const plain = console.warn;
console.warn = (message: string) => void warnings.push(message);
for (const [name, [run, options]] of Object.entries(programs)) {
  const accelerator = await Accelerator.create(options);
  await run(accelerator);
  accelerator.freeMemory();
  found[name] = warnings.splice(0).filter((message) => message.includes('prepare'));
}
const last = await Accelerator.create();
train(network(), 100);
const during = warnings.splice(0).length;
last.freeMemory();
reportResult({ found, during, atEnd: warnings.splice(0).length });

// The last one ends with the process.
console.warn = plain;
await Accelerator.create();
train(network());
