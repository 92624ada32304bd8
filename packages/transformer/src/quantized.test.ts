import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, it } from 'vitest';
import { openWeights } from '@acc/checkpoint';
import { kernelLayerOf, registerAccBackend } from '@acc/kernels';
import { quantize, quantizeVariable } from '@acc/quantization';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openPacked } from './packed-files/open-packed.js';
import { llama, loadPretrained, lora, mergeLora, saveGguf, savePretrained } from './index.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

const config = {
  vocab_size: 32,
  hidden_size: 64,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 16,
  tie_word_embeddings: true,
};

/** QLoRA (Dettmers et al. 2023). */
it('adapters are trained on a base of 4 bits, which stays as it is', async () => {
  const model = llama(config as never);
  const tokens = tf.tensor2d([[1, 5, 9, 2]], [1, 4], 'int32');
  const plain = model.predict(tokens) as tf.Tensor;
  const report = await quantize(model, { weights: 'nf4' });
  expect(report.map(({ layer }) => layer)).toEqual(
    expect.arrayContaining([expect.stringContaining('q_proj'), expect.stringContaining('embed')]),
  );
  const base = (model.weights as unknown as { read(): tf.Variable }[]).map((weight) => weight.read());
  lora(model, { rank: 4, targets: ['**/q_proj', '**/v_proj'] });
  model.compile({ optimizer: tf.train.sgd(0.5), loss: (y, x) => tf.losses.meanSquaredError(y, x) });
  const before = base.map((variable) => variable.dataSync());
  const losses: number[] = [];
  for (let step = 0; step < 4; step++) losses.push((await model.trainOnBatch(tokens, plain)) as number);
  expect(losses.at(-1)!).toBeLessThan(losses[0]!);
  base.forEach((variable, i) => expect(variable.dataSync()).toEqual(before[i]));
  expect(() => mergeLora(model)).toThrow(expect.objectContaining({ code: 'ACC_LORA_QUANTIZED' }));
  const adapters = model.weights.filter(({ originalName }) => originalName.includes('lora_'));
  expect(adapters).toHaveLength(8);
  tf.dispose([tokens, plain]);
  model.dispose();
});

it('weights are packed as they are read: the model is never in float32, and is that of quantize', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'acc-qlora-'));
  try {
    const large = {
      ...config,
      hidden_size: 128,
      intermediate_size: 512,
      num_hidden_layers: 8,
      vocab_size: 512,
    };
    const first = llama({ ...large, tie_word_embeddings: false } as never);
    await savePretrained(first, folder);
    first.dispose();
    const floatBytes = 4 * (2 * 512 * 128 + 8 * (2 * 128 * 128 + 2 * 128 * 64 + 3 * 128 * 512));
    const { allocatedBytes } = memoryStats();
    resetPeakMemory();
    const model = await loadPretrained(folder, { weights: 'nf4' });
    const peak = memoryStats().peakAllocatedBytes - allocatedBytes;
    const held = memoryStats().allocatedBytes - allocatedBytes;
    expect(held).toBeLessThan(0.16 * floatBytes);
    // One matrix of 256 KB at a time, and what packs it.
    expect(peak).toBeLessThan(0.16 * floatBytes + 16 * 4 * 512 * 128);
    const whole = await loadPretrained(folder);
    await quantize(whole, { weights: 'nf4' });
    const valuesOf = ({ weights }: typeof model) => weights.map((weight) => weight.read().dataSync());
    expect(valuesOf(model)).toEqual(valuesOf(whole));
    expect(model.trainableWeights).toHaveLength(whole.trainableWeights.length);
    const tokens = tf.tensor2d([[1, 5, 9, 2]], [1, 4], 'int32');
    const results = [model, whole].map((each) => each.predict(tokens) as tf.Tensor);
    expect(results[0]!.dataSync()).toEqual(results[1]!.dataSync());
    tf.dispose([tokens, ...results]);
    lora(model, { rank: 4, targets: ['**/q_proj'] });
    expect(model.trainableWeights).toHaveLength(16);
    model.dispose();
    whole.dispose();
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('a calibrated model rounds the inputs of its projections, and packs them by GPTQ and AWQ', async () => {
  const tokens = [1, 2].map((seed) =>
    tf.tidy(() => tf.floor(tf.randomUniform([2, 8], 0, 32, 'float32', seed)).toInt() as tf.Tensor),
  );
  const own = llama(config as never);
  const logits = own.predict(tokens[0]!) as tf.Tensor;
  const inputs = (model: typeof own) =>
    model.weights.flatMap(({ originalName }) => /[^/]*[/]input_.*/.exec(originalName)?.[0] ?? []);
  const projections = ['**/attn/*', '**/mlp/*'];
  const cases = [
    [{ weights: 'int8', activations: 'static' }, 15],
    [{ weights: 'int8', activations: 'static', algorithm: 'smoothQuant' }, 30],
    [{ weights: 'int8', activations: 'dynamic', algorithm: 'gptq', layers: projections }, 0],
    [{ weights: 'int4', granularity: { group: 32 }, algorithm: 'awq', layers: projections }, 14],
  ] as const;
  for (const [options, count] of cases) {
    const model = llama(config as never);
    model.setWeights(own.getWeights());
    const before = tf.memory().numTensors;
    await quantize(model, { ...options, calibration: tokens });
    expect(inputs(model)).toHaveLength(count);
    expect(tf.memory().numTensors).toBe(before + count);
    const found = model.predict(tokens[0]!) as tf.Tensor;
    const [error, largest] = tf.tidy(() => [
      tf.max(tf.abs(tf.sub(found, logits))).dataSync()[0]!,
      tf.max(tf.abs(logits)).dataSync()[0]!,
    ]) as [number, number];
    expect(error).toBeGreaterThan(0);
    expect(error).toBeLessThan((options.weights === 'int4' ? 0.4 : 0.1) * largest);
    found.dispose();
    model.dispose();
  }
  tf.dispose([...tokens, logits]);
  own.dispose();
});

it('weights of a Q8_0 file keep their numbers and scales, if they are packed in groups of 32', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'acc-gguf-'));
  try {
    const path = join(folder, 'model.gguf');
    const model = llama(config as never);
    await saveGguf(model, path);
    model.dispose();
    const [packed, whole] = [
      await loadPretrained(path, { weights: 'int8', granularity: { group: 32 } }),
      await loadPretrained(path),
    ];
    // Frozen weights come last in the order of a model.
    const valuesOf = ({ weights }: typeof packed) =>
      Object.fromEntries(weights.map((weight) => [weight.originalName, weight.read().dataSync()]));
    expect(valuesOf(packed)).toEqual(valuesOf(whole));
    expect(packed.trainableWeights).toHaveLength(5);
    packed.dispose();
    whole.dispose();
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('nf4 of bitsandbytes keeps its numbers, if it is packed again', async () => {
  const path = fileURLToPath(new URL('../fixtures/packed.safetensors', import.meta.url));
  const stored = (await openWeights(path)).filter(({ name }) => name.startsWith('nf4.weight'));
  const config = { quant_method: 'bitsandbytes', load_in_4bit: true, bnb_4bit_quant_type: 'nf4' };
  const { state } = kernelLayerOf(tf.getBackend(), tf.backend());
  const [weight] = await openPacked(stored, config, state);
  const values = await weight!.read(state);
  const variable = tf.variable(values);
  expect(quantizeVariable(variable, { weights: 'nf4', axis: 'first' }).sqnr).toBe(Infinity);
  expect(variable.dataSync()).toEqual(values.dataSync());
  values.dispose();
  variable.dispose();
});
