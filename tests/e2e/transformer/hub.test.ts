import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { setNumThreads } from '@acc/native';
import { expectClose } from '@acc/testkit';
import { generate, loadPretrained, savePretrained } from '@acc/transformer';
import { GPT2, LLAMA, newFolder, Reference, tokensOf, type Answer } from './reference.js';

let reference: Reference;
/** The installation of packages of Python may take minutes at first. */
const LONGEST_MS = 600_000;

beforeAll(async () => {
  registerAccBackend();
  setNumThreads(1);
  reference = await Reference.start();
}, LONGEST_MS);
afterAll(() => reference.close());

interface Case {
  readonly kind: 'gpt2' | 'llama';
  readonly config: object;
  readonly dtype?: string;
  readonly max_shard?: string;
}

const LLAMA3 = {
  rope_type: 'llama3',
  rope_theta: 500_000,
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 16,
};

const CASES: Readonly<Record<string, Case>> = {
  'GPT-2': { kind: 'gpt2', config: GPT2 },
  'GPT-2 with another activation and width, in several files': {
    kind: 'gpt2',
    config: { ...GPT2, activation_function: 'gelu', n_inner: 40, layer_norm_epsilon: 1e-3 },
    max_shard: '8KB',
  },
  'Llama with grouped queries': { kind: 'llama', config: LLAMA },
  'Llama 3: scaled positions, biases, tied embeddings, wide heads, bfloat16': {
    kind: 'llama',
    config: {
      ...LLAMA,
      rope_parameters: LLAMA3,
      attention_bias: true,
      mlp_bias: true,
      tie_word_embeddings: true,
      head_dim: 12,
    },
    dtype: 'bfloat16',
  },
  'Llama with linear positions, in float16': {
    kind: 'llama',
    config: { ...LLAMA, rope_parameters: { rope_type: 'linear', rope_theta: 10_000, factor: 2 } },
    dtype: 'float16',
  },
};

/** The root mean square of `values`. */
const rms = (values: readonly number[]): number =>
  Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);

/** Sums of float32 in another order differ relative to the size of their terms. */
function expectNear(actual: readonly number[], expected: readonly number[], rtol = 2e-5): void {
  expect(actual.length).toBe(expected.length);
  expectClose(actual, expected, { rtol, atol: rtol * rms(expected) });
}

const flat = (x: tf.Tensor): number[] => Array.from(x.dataSync());

/** The mean cross-entropy of the next tokens. */
function lossOf(model: tf.LayersModel, tokens: tf.Tensor2D): tf.Scalar {
  const [rows, length] = tokens.shape;
  const logits = tf.slice(model.apply(tokens) as tf.Tensor3D, [0, 0, 0], [rows, length - 1, -1]);
  const targets = tf.slice(tokens, [0, 1], [rows, length - 1]);
  return tf.losses.softmaxCrossEntropy(tf.oneHot(targets, logits.shape[2]), logits);
}

describe.each(Object.entries(CASES))('%s', (_, { kind, ...request }) => {
  const folder = newFolder();
  const tokens = tokensOf(3, 9, 60);
  let theirs: Answer;

  beforeAll(async () => {
    theirs = await reference.ask('make', { folder, kind, tokens, count: 12, ...request });
  }, LONGEST_MS);

  it.each(['acc', 'cpu'])(
    'has the logits, gradients and greedy tokens of transformers on %s',
    async (backend) => {
      await tf.setBackend(backend);
      const model = await loadPretrained(folder);
      const batch = tf.tensor2d(tokens, undefined, 'int32');
      const logits = model.predict(batch) as tf.Tensor;
      expectNear(flat(logits), theirs.logits);
      const { value, grads } = tf.variableGrads(() => lossOf(model, batch));
      expectNear(flat(value), [theirs.loss]);
      expect(Object.keys(grads)).toHaveLength(Object.keys(theirs.gradients).length);
      for (const weight of model.weights) {
        const { name, isTransposed } = hubNameOf(kind, weight.originalName);
        const grad = grads[weight.name]!;
        expectNear(flat(isTransposed ? tf.transpose(grad) : grad), theirs.gradients[name]!, 1e-4);
      }
      const made = generate(model, tokens, { maxNewTokens: 12 });
      expect(made.arraySync()).toEqual(theirs.generated);
      tf.dispose([batch, logits, value, grads, made]);
      model.dispose();
    },
  );

  it('is read by transformers after savePretrained', async () => {
    await tf.setBackend('acc');
    const model = await loadPretrained(folder);
    const copy = newFolder();
    await savePretrained(model, copy, { maxShardSize: 6_000 });
    model.dispose();
    const read = await reference.ask('read', { folder: copy, kind, tokens });
    expectNear(read.logits, theirs.logits);
  });
});

const LEAVES: Readonly<Record<string, string>> = { beta: 'bias', bias: 'bias' };

/** What PyTorch calls a weight, and whether it has the transposed matrix. */
function hubNameOf(kind: 'gpt2' | 'llama', weight: string): { name: string; isTransposed: boolean } {
  const [leaf, ...rest] = weight.split('/').reverse();
  const layer = rest.reverse().join('.');
  const end = LEAVES[leaf!] ?? 'weight';
  if (kind === 'gpt2') return { name: `transformer.${layer}.${end}`, isTransposed: false };
  const module = layer
    .replace('.attn', '.self_attn')
    .replace('ln_1', 'input_layernorm')
    .replace('ln_2', 'post_attention_layernorm');
  const name = `${module === 'lm_head' ? '' : 'model.'}${module}.${end}`;
  return { name, isTransposed: leaf === 'kernel' };
}
