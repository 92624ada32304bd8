// Trains the models of a list of cases by plans on a mesh, one after the other.
// Returns of each: losses, whole weights, what a step sends, its peak memory, and what is left of it.
import * as tf from '@tensorflow/tfjs';
import {
  Accelerator,
  DataLoader,
  parallelize,
  setSeed,
  type AcceleratorOptions,
  type CompileOptions,
  type ParallelPlan,
} from '@acc/core';
import { liveTensors } from '@acc/native';
import { seededRandom } from '@acc/testkit';
import { generate, gpt2, llama, rmsNormalization, transformerBlock } from '@acc/transformer';

const ROWS = 12;
const LENGTH = 8;
const VOCABULARY = 24;
const PROMPTS = [
  [1, 2, 3],
  [20, 9, 14],
];

export interface Case {
  readonly model: 'mlp' | 'embedding' | 'gpt2' | 'llama' | 'grouped' | 'apart' | 'norms';
  /** Of a sequence. Default {@link LENGTH}. */
  readonly length?: number;
  /** The heads of keys of `grouped` and `apart`, which have 12 of queries. Default 6. */
  readonly kvHeads?: number;
  readonly layers?: number;
  readonly plan: ParallelPlan;
  readonly mesh?: NonNullable<AcceleratorOptions['mesh']>;
  readonly options?: AcceleratorOptions;
  /** Compiles the step with these options. */
  readonly compile?: CompileOptions;
  readonly dropout?: number;
  readonly steps?: number;
  /** Default {@link ROWS}. */
  readonly rows?: number;
  /** The folder of a state to save at the end. */
  readonly save?: string;
  /** The folder of a state to begin with. */
  readonly load?: string;
}

export interface Trained {
  readonly losses: readonly number[];
  readonly weights: readonly number[][];
  /** The weights as `getStateDict` gives them. */
  readonly dict: readonly number[][];
  /** The text that `llama` generates from two prompts. */
  readonly text: readonly number[][];
  /** In a step. */
  readonly sent: Record<string, { calls: number; bytes: number }>;
  /** In a forward pass alone, without a loss. */
  readonly sentForward: Record<string, { calls: number; bytes: number }>;
  readonly peakBytes: number;
  /** Of a compiled step. */
  readonly replays: number;
  /** Why a compiled step is not replayed. */
  readonly reason: string | undefined;
  /** How many different numbers of tensors, and of native ones, were left after a step. */
  readonly left: number;
}

function made(given: Case): tf.LayersModel {
  const { model, layers = 2, dropout = 0, kvHeads = 6, length = LENGTH } = given;
  if (model === 'mlp') {
    return tf.sequential({
      layers: [
        tf.layers.dense({ name: 'in', units: 24, activation: 'relu', inputShape: [length] }),
        tf.layers.dense({ name: 'mid', units: 6 }),
        tf.layers.layerNormalization({ name: 'norm' }),
        tf.layers.dense({ name: 'out', units: VOCABULARY }),
      ],
    });
  }
  if (model === 'embedding') {
    const table = { name: 'table', inputDim: VOCABULARY, outputDim: 12, inputLength: length };
    return tf.sequential({
      layers: [tf.layers.embedding(table), tf.layers.dense({ name: 'out', units: VOCABULARY })],
    });
  }
  if (model === 'grouped' || model === 'apart') {
    const fused = model === 'grouped';
    const block = { heads: 12, kvHeads, headDim: 4, fused, causal: true, rotary: true };
    const names = ['a', 'b', 'c'].slice(0, layers);
    return tf.sequential({
      layers: [
        tf.layers.embedding({ name: 'tokens', inputDim: VOCABULARY, outputDim: 24, inputShape: [length] }),
        ...names.map((name) => transformerBlock({ name, ...block, attentionDropout: dropout })),
        tf.layers.dense({ name: 'out', units: VOCABULARY }),
      ],
    });
  }
  if (model === 'norms') return norms({ layers, dropout, length });
  const shared = { vocab_size: VOCABULARY };
  if (model === 'gpt2') {
    const dropouts = { resid_pdrop: dropout, embd_pdrop: dropout, attn_pdrop: dropout };
    return gpt2({ ...shared, ...dropouts, n_positions: length, n_embd: 24, n_layer: layers, n_head: 6 });
  }
  return llama({
    ...shared,
    hidden_size: 24,
    intermediate_size: 36,
    num_hidden_layers: layers,
    num_attention_heads: 12,
    num_key_value_heads: 6,
    max_position_embeddings: length,
    attention_dropout: dropout,
  });
}

/** Residuals, norms and dropout. */
function norms({ layers, dropout, length }: Required<Pick<Case, 'layers' | 'dropout' | 'length'>>) {
  const inputs = tf.input({ shape: [length] });
  const table = tf.layers.embedding({ name: 'tokens', inputDim: VOCABULARY, outputDim: 24 });
  let x = table.apply(inputs) as tf.SymbolicTensor;
  for (let i = 0; i < layers; i++) {
    const norm = rmsNormalization({ name: `norm.${i}` }).apply(x);
    const dropped = tf.layers.dropout({ name: `dropout.${i}`, rate: dropout }).apply(norm);
    x = tf.layers.add({ name: `add.${i}` }).apply([x, dropped as tf.SymbolicTensor]) as tf.SymbolicTensor;
  }
  const last = rmsNormalization({ name: 'norm.last' }).apply(x);
  const logits = tf.layers.dense({ name: 'out', units: VOCABULARY }).apply(last);
  return tf.model({ inputs, outputs: logits as tf.SymbolicTensor });
}

function dataOf({ model, rows = ROWS, length = LENGTH }: Case) {
  const isMlp = model === 'mlp';
  const token = (i: number) => Math.floor(VOCABULARY * Math.abs(Math.sin(i * 1.7 + 0.3)));
  const list = (count: number, value: (i: number) => number) =>
    Array.from({ length: count }, (_, i) => value(i));
  const count = rows * length;
  return {
    x: isMlp
      ? tf.tensor2d(list(count, Math.sin), [rows, length])
      : tf.tensor2d(list(count, token), [rows, length], 'int32'),
    y: tf.tensor2d(
      list(isMlp ? rows : count, (i) => token(i + 1)),
      [rows, isMlp ? 1 : length],
      'int32',
    ),
  };
}

async function train(given: Case): Promise<Trained> {
  const { mesh, plan, options, steps = 10, rows = ROWS } = given;
  const accelerator = await Accelerator.create({
    ...(mesh && { mesh }),
    dataLoader: { shuffle: false },
    ...options,
  });
  setSeed(3);
  const model = parallelize(made(given), plan);
  const random = seededRandom(7);
  for (const weight of model.weights) {
    const variable = weight.read();
    const values = Array.from({ length: variable.size }, () => 0.6 * random() - 0.3);
    if (variable.rank > 1) tf.tidy(() => void weight.write(tf.tensor(values, variable.shape)));
  }
  const data = dataOf(given);
  const dataRanks = accelerator.numProcesses / accelerator.mesh.size('tensor');
  const batchSize = rows / dataRanks / accelerator.gradientAccumulationSteps;
  const loader = new DataLoader(data, { batchSize });
  const [, optimizer, prepared] = accelerator.prepare(model, tf.train.adam(0.003, 0.9, 0.99, 1e-2), loader);
  if (given.load) await accelerator.loadState(given.load);
  const losses: number[] = [];
  const left = new Set<string>();
  let sent: Trained['sent'] = {};
  let peakBytes = 0;
  const take = (x: tf.Tensor, y: tf.Tensor) =>
    optimizer.minimize(() => {
      const logits = tf.reshape(model.apply(x, { training: true }) as tf.Tensor, [-1, VOCABULARY]);
      const labels = tf.oneHot(tf.reshape(y, [-1]) as tf.Tensor1D, VOCABULARY);
      return tf.losses.softmaxCrossEntropy(labels, logits) as tf.Scalar;
    }, true)!;
  const compiled = given.compile && accelerator.compile(take, given.compile);
  const step = compiled ?? take;
  while (losses.length < steps) {
    for await (const batch of prepared) {
      accelerator.communication();
      accelerator.resetPeakMemory();
      const loss = accelerator.accumulate(() => step(batch.x, batch.y));
      sent = accelerator.communication();
      peakBytes = (tf.memory() as unknown as { peakAllocatedBytes: number }).peakAllocatedBytes;
      const mean = accelerator.reduce(loss, 'mean');
      losses.push(mean.dataSync()[0]!);
      tf.dispose([loss, mean, batch.x, batch.y]);
      const isWhole = losses.length % accelerator.gradientAccumulationSteps === 0;
      if (losses.length > 4 && isWhole)
        left.add([tf.memory().numTensors, tf.memory().numDataBuffers, liveTensors()].join());
    }
  }
  if (given.save) await accelerator.saveState(given.save);
  accelerator.communication();
  tf.tidy(() => void model.apply(data.x));
  const sentForward = accelerator.communication();
  const generated = given.model === 'llama' ? generate(model, PROMPTS, { maxNewTokens: 4 }) : undefined;
  const text = (generated?.arraySync() ?? []) as number[][];
  generated?.dispose();
  const whole = accelerator.getStateDict(model);
  const dict = Object.values(whole).map((value) => Array.from(value.dataSync()));
  const weights = model.weights.map((weight) => Array.from(weight.read().dataSync()));
  tf.dispose([whole, data.x, data.y]);
  accelerator.freeMemory();
  tf.disposeVariables();
  const { replays = 0, reason } = compiled ?? {};
  const sends = { sent, sentForward };
  return { losses, weights, dict, text, ...sends, peakBytes, replays, reason, left: left.size };
}

export default async function models(cases: readonly Case[]): Promise<Trained[]> {
  const results: Trained[] = [];
  for (const given of cases) results.push(await train(given));
  return results;
}
