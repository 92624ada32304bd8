import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { setNumThreads } from '@acc/native';
import { generate, loadPretrained, moe, savePretrained } from '@acc/transformer';
import { expectNear, flat, rms } from './compare.js';
import { lossOf } from './loss.js';
import { GPT2, LLAMA, tokensOf } from './models.js';
import { newFolder, Reference, type Answer } from './reference.js';

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
      // Some gradients are zero but for roundings: of biases of keys.
      const size = Math.max(...Object.values(theirs.gradients).map(rms));
      for (const weight of model.weights) {
        const { name, isTransposed } = hubNameOf(kind, weight.originalName);
        const grad = grads[weight.name]!;
        expectNear(flat(isTransposed ? tf.transpose(grad) : grad), theirs.gradients[name]!, 1e-4, size);
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

it('names all tensors that are missing, surplus or misshapen, and other models, in errors', async () => {
  await tf.setBackend('acc');
  const folder = newFolder();
  await reference.ask('make', { folder, kind: 'gpt2', tokens: [[1, 2]], config: GPT2 });
  const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as object;
  const change = (fields: object) =>
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...config, ...fields }));
  const { numTensors } = tf.memory();
  change({ n_layer: 1, n_inner: 40, add_layers: 3 });
  await expect(loadPretrained(folder)).rejects.toMatchObject({
    code: 'ACC_WEIGHTS_MISMATCH',
    details: {
      missing: [],
      surplus: expect.arrayContaining(['transformer.h.1.attn.c_attn.weight']) as unknown,
      misshapen: expect.arrayContaining([
        { name: 'transformer.h.0.mlp.c_fc.weight', stored: [24, 96], here: [24, 40] },
      ]) as unknown,
    },
  });
  change({ n_layer: 3 });
  await expect(loadPretrained(folder)).rejects.toMatchObject({
    code: 'ACC_WEIGHTS_MISMATCH',
    details: { missing: expect.arrayContaining(['transformer.h.2.ln_1.weight']) as unknown, surplus: [] },
  });
  expect(tf.memory().numTensors).toBe(numTensors);
  change({ scale_attn_by_inverse_layer_idx: true });
  await expect(loadPretrained(folder)).rejects.toMatchObject({ code: 'ACC_INVALID_OPTION' });
  change({ model_type: 'bert' });
  await expect(loadPretrained(folder)).rejects.toMatchObject({ code: 'ACC_MODEL_UNSUPPORTED' });
  writeFileSync(join(folder, 'config.json'), '{');
  await expect(loadPretrained(folder)).rejects.toMatchObject({ code: 'ACC_MODEL_CONFIG_INVALID' });
  await expect(loadPretrained(newFolder())).rejects.toMatchObject({ code: 'ACC_MODEL_CONFIG_INVALID' });
});

const LEAVES: Readonly<Record<string, string>> = { beta: 'bias', bias: 'bias' };

/** PyTorch's name of a weight, and whether it has the transposed matrix. */
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

it('a mixture of experts, its balance loss and all gradients are those of Mixtral', async () => {
  await tf.setBackend('acc');
  const [experts, inner, width, balance] = [5, 7, 6, 0.3];
  const wave = (phase: number) =>
    tf
      .sin(
        tf
          .range(0, 2 * 9 * width)
          .mul(1.7)
          .add(phase),
      )
      .reshape([2, 9, width]);
  const [x, dy] = [wave(0), wave(3)];
  const request = { x: x.arraySync(), dy: dy.arraySync(), experts, inner, balance };
  const theirs = await reference.mixture(request);
  // transformers counts the tokens of an expert, and we the share of all assignments, of which a token has 2.
  const layer = moe({
    experts,
    topK: 2,
    mlp: 'swiGlu',
    innerUnits: inner,
    balanceLoss: 2 * balance,
    zLoss: 0,
  });
  layer.apply(tf.input({ shape: [9, width] }));
  const ours = (from: typeof theirs.weights): tf.Tensor[] => {
    const given = (name: string) => tf.tensor(from[name]!);
    const joint = tf.transpose(given('experts.gate_up_proj'), [0, 2, 1]);
    const [gate, up] = tf.split(joint, 2, -1) as [tf.Tensor, tf.Tensor];
    const down = tf.transpose(given('experts.down_proj'), [0, 2, 1]);
    return [tf.transpose(given('gate.weight')), gate, up, down];
  };
  layer.setWeights(ours(theirs.weights));
  const loss = (given: tf.Tensor) => tf.sum(tf.mul(layer.apply(given) as tf.Tensor, dy));
  expectNear(flat(layer.apply(x) as tf.Tensor), theirs.y);
  expectNear(flat(tf.grad(loss)(x)), theirs.dx, 1e-4);
  const variables = layer.weights.map((weight) => weight.read() as tf.Variable);
  const { grads } = tf.variableGrads(() => loss(x) as tf.Scalar, variables);
  ours(theirs.gradients).forEach((expected, i) => {
    expectNear(flat(grads[variables[i]!.name]!), flat(expected), 1e-4);
  });
});
