// Trains a model by a plan on a mesh. The arguments are the model, the plan, the sizes of the mesh and
// the options, as JSON. Reports losses, whole weights, what a step sends, and what is left of it.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, parallelize, type AcceleratorOptions, type ParallelPlan } from '@acc/core';
import { liveTensors } from '@acc/native';
import { reportResult, seededRandom } from '@acc/testkit';
import { gpt2, llama } from '@acc/transformer';

const LENGTH = 8;
const VOCABULARY = 24;

interface Given {
  readonly model: 'mlp' | 'gpt2' | 'llama';
  readonly layers?: number;
  readonly plan: ParallelPlan;
  readonly mesh?: AcceleratorOptions['mesh'];
  readonly options?: AcceleratorOptions;
  readonly dropout?: number;
  readonly steps?: number;
  /** The folder of a state to save at the end. */
  readonly save?: string;
  /** The folder of a state to begin with. */
  readonly load?: string;
}

const given = JSON.parse(process.argv[2]!) as Given;
const { mesh = {}, plan, options, steps = 20, layers = 2, dropout = 0 } = given;
const hasMesh = Object.keys(mesh).length > 0;
const accelerator = await Accelerator.create({
  ...(hasMesh && { mesh }),
  seed: 5,
  dataLoader: { shuffle: false },
  ...options,
});

const shared = { vocab_size: VOCABULARY };
const makers = {
  mlp: () =>
    tf.sequential({
      layers: [
        tf.layers.dense({ name: 'in', units: 24, activation: 'relu', inputShape: [LENGTH] }),
        tf.layers.dense({ name: 'mid', units: 6 }),
        tf.layers.layerNormalization({ name: 'norm' }),
        tf.layers.dense({ name: 'out', units: VOCABULARY }),
      ],
    }),
  gpt2: () =>
    gpt2({
      ...shared,
      n_positions: LENGTH,
      n_embd: 24,
      n_layer: layers,
      n_head: 6,
      resid_pdrop: dropout,
      embd_pdrop: dropout,
      attn_pdrop: dropout,
      initializer_range: 0.3,
    }),
  llama: () =>
    llama({
      ...shared,
      hidden_size: 24,
      intermediate_size: 36,
      num_hidden_layers: layers,
      num_attention_heads: 12,
      num_key_value_heads: 6,
      max_position_embeddings: LENGTH,
      initializer_range: 0.3,
      tie_word_embeddings: false,
    }),
};
const model = parallelize(makers[given.model](), plan);
const random = seededRandom(7);
for (const weight of model.weights) {
  const variable = weight.read();
  const values = Float32Array.from({ length: variable.size }, () => 0.6 * random() - 0.3);
  if (variable.rank > 1) weight.write(tf.tensor(values, variable.shape));
}
const rows = 12;
const isMlp = given.model === 'mlp';
const wave = (i: number) => Math.floor(VOCABULARY * Math.abs(Math.sin(i * 1.7 + 0.3)));
const count = rows * LENGTH;
const x = isMlp
  ? tf.tensor2d(
      Float32Array.from({ length: count }, (_, i) => Math.sin(i)),
      [rows, LENGTH],
    )
  : tf.tensor2d(
      Int32Array.from({ length: count }, (_, i) => wave(i)),
      [rows, LENGTH],
      'int32',
    );
const y = tf.tensor2d(
  Int32Array.from({ length: isMlp ? rows : count }, (_, i) => wave(i + 1)),
  [rows, isMlp ? 1 : LENGTH],
  'int32',
);
const dataRanks = accelerator.numProcesses / accelerator.mesh.size('tensor');
const loader = new DataLoader(
  { x, y },
  { batchSize: rows / dataRanks / accelerator.gradientAccumulationSteps },
);
const [, optimizer, data] = accelerator.prepare(model, tf.train.adam(0.003, 0.9, 0.99, 1e-2), loader);

if (given.load) await accelerator.loadState(given.load);
const losses: number[] = [];
const left = new Set<string>();
let sent: unknown;
while (losses.length < steps) {
  for await (const batch of data) {
    accelerator.communication();
    const loss = accelerator.accumulate(() =>
      optimizer.minimize(() => {
        const logits = model.apply(batch.x, { training: true }) as tf.Tensor;
        const flat = tf.reshape(logits, [-1, VOCABULARY]);
        const labels = tf.oneHot(tf.reshape(batch.y, [-1]) as tf.Tensor1D, VOCABULARY);
        return tf.losses.softmaxCrossEntropy(labels, flat);
      }, true),
    )!;
    sent = accelerator.communication();
    const mean = accelerator.reduce(loss, 'mean');
    losses.push(mean.dataSync()[0]!);
    tf.dispose([loss, mean, batch.x, batch.y]);
    if (losses.length > 5) left.add([tf.memory().numTensors, liveTensors()].join());
  }
}
if (given.save) await accelerator.saveState(given.save);
const dict = accelerator.getStateDict(model);
const saved = Object.values(dict).map((value) => Array.from(value.dataSync()));
tf.dispose(dict);
const weights = model.weights.map((weight) => Array.from(weight.read().dataSync()));
reportResult({ losses, weights, saved, sent, left: left.size });
await accelerator.endTraining();
