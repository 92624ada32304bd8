import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { expectClose } from '@acc/testkit';
import { nestedLayers, patch, type LayerInternals } from '@acc/tfjs-internals';
import {
  gpt2,
  llama,
  loadLora,
  lora,
  mergeLora,
  saveLora,
  savePretrained,
  type LoraOptions,
} from '../index.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

const small = () =>
  llama({
    vocab_size: 19,
    hidden_size: 12,
    intermediate_size: 20,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    initializer_range: 0.3,
  });
const OPTIONS = { rank: 3, alpha: 6, targets: ['**/q_proj', '**/v_proj', 'lm_head'] };
const tokens = () => tf.tensor2d([[1, 5, 2, 8, 3]], undefined, 'int32');
const newFolder = () => mkdtempSync(join(tmpdir(), 'acc-lora-'));
const valuesOf = (x: unknown) => Array.from((x as tf.Tensor).dataSync());
const logitsOf = (model: tf.LayersModel) => tf.tidy(() => valuesOf(model.predict(tokens())));
const namesOf = (weights: readonly { originalName: string }[]) =>
  weights.map(({ originalName }) => originalName);

function expectNear(actual: readonly number[], expected: readonly number[]): void {
  expectClose(actual, expected, { rtol: 1e-4, atol: 1e-4 * Math.max(...expected.map(Math.abs)) });
}

/** Gives B values, which are zero at first. */
function drawAdapters(model: tf.LayersModel): void {
  model.weights.forEach((weight, i) => {
    if (!weight.originalName.endsWith('lora_B')) return;
    tf.tidy(() => void weight.write(tf.randomNormal(weight.shape as number[], 0, 0.3, 'float32', i)));
  });
}

describe('lora', () => {
  it('changes nothing at first, and leaves only adapters to train', () => {
    const model = small();
    const before = logitsOf(model);
    expect(lora(model, OPTIONS)).toBe(model);
    expectNear(logitsOf(model), before);
    const layers = ['layers.0/attn/q_proj', 'layers.0/attn/v_proj', 'layers.1/attn/q_proj'];
    const chosen = [...layers, 'layers.1/attn/v_proj', 'lm_head'];
    expect(namesOf(model.trainableWeights)).toEqual(
      chosen.flatMap((name) => [`${name}/lora_A`, `${name}/lora_B`]),
    );
    const frozen = model.weights.filter((weight) => !(weight.read() as tf.Variable).trainable);
    expect(frozen).toHaveLength(model.weights.length - 10);
    expect(frozen).toHaveLength(model.nonTrainableWeights.length);
  });

  it('trains adapters to what full matrices of that change compute', () => {
    const model = lora(small(), OPTIONS);
    drawAdapters(model);
    const adapted = logitsOf(model);
    const optimizer = tf.train.sgd(0.1);
    const kernels = model.weights.filter(({ originalName }) => !originalName.includes('lora'));
    const before = kernels.map((weight) => valuesOf(weight.read()));
    tf.tidy(() => {
      const ys = tf.oneHot(tokens(), 19);
      optimizer.minimize(() => tf.losses.softmaxCrossEntropy(ys, model.apply(tokens()) as tf.Tensor));
    });
    const trained = logitsOf(model);
    expect(trained).not.toEqual(adapted);
    expect(kernels.map((weight) => valuesOf(weight.read()))).toEqual(before);
    const names = namesOf(small().weights);
    const numTensors = tf.memory().numTensors;
    expect(mergeLora(model)).toBe(model);
    // A and B of five layers.
    expect(tf.memory().numTensors).toBe(numTensors - 10);
    expectNear(logitsOf(model), trained);
    expect(namesOf(model.weights).sort()).toEqual(names.sort());
    expect(model.layers.at(-1)!.getClassName()).toBe('Dense');
  });

  it.each<[string, () => tf.LayersModel, LoraOptions]>([
    ['Llama', small, OPTIONS],
    [
      'GPT-2',
      () => gpt2({ vocab_size: 19, n_positions: 8, n_embd: 12, n_layer: 1, n_head: 2 }),
      { rank: 2, targets: ['h.*/attn/c_attn', '**/mlp/c_proj'], dropout: 0.5 },
    ],
  ])('is saved with %s, and by itself in the names of PEFT', async (_, make, options) => {
    const model = lora(make(), options);
    drawAdapters(model);
    const expected = logitsOf(model);
    let artifacts: tf.io.ModelArtifacts | undefined;
    await model.save(
      tf.io.withSaveHandler((saved) => {
        artifacts = saved;
        return Promise.resolve({ modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: 'JSON' } });
      }),
    );
    const modelTopology = JSON.parse(JSON.stringify(artifacts!.modelTopology)) as object;
    const loaded = await tf.loadLayersModel(tf.io.fromMemory({ ...artifacts!, modelTopology }));
    expect(logitsOf(loaded)).toEqual(expected);
    expect(namesOf(loaded.trainableWeights)).toEqual(namesOf(model.trainableWeights));
    // The configuration comes along.
    await savePretrained(mergeLora(loaded), newFolder());
    const folder = newFolder();
    await saveLora(model, folder);
    const base = make();
    const weights = new Map(model.weights.map((weight) => [weight.originalName, weight.read()]));
    for (const weight of base.weights) weight.write(weights.get(weight.originalName)!);
    expect(await loadLora(base, folder)).toBe(base);
    expectNear(logitsOf(base), expected);
    const config = JSON.parse(readFileSync(join(folder, 'adapter_config.json'), 'utf8')) as object;
    expect(config).toMatchObject({ r: options.rank, lora_dropout: options.dropout ?? 0, bias: 'none' });
  });

  it('adapts dense layers of any model, with biases and activations, and drops only in training', () => {
    const model = tf.sequential({
      layers: [tf.layers.dense({ units: 6, activation: 'tanh', inputShape: [4], name: 'hidden' })],
    });
    lora(model, { rank: 2, targets: ['hid*'], dropout: 0.5 });
    drawAdapters(model);
    const x = tf.ones([5, 4]);
    const [kernel, bias, a, b] = ['kernel', 'bias', 'lora_A', 'lora_B'].map((name) =>
      model.weights.find(({ originalName }) => originalName.endsWith(name))!.read(),
    );
    const change = tf.matMul(tf.matMul(x, a as tf.Tensor2D), b as tf.Tensor2D).mul(8 / 2);
    const expected = tf.tanh(
      tf
        .matMul(x, kernel as tf.Tensor2D)
        .add(bias!)
        .add(change),
    );
    expectNear(valuesOf(model.predict(x)), valuesOf(expected));
    const dropped = [1, 2].map(() => valuesOf(model.apply(x, { training: true })));
    expect(dropped[0]).not.toEqual(dropped[1]);
  });
});

describe('are refused:', () => {
  const compiled = () => {
    const model = small();
    model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
    return model;
  };
  it.each<[string, () => unknown, string]>([
    ['no model', () => lora({} as never, OPTIONS), 'ACC_INVALID_ARGUMENT'],
    ['a misspelt option', () => lora(small(), { ...OPTIONS, r: 3 } as never), 'ACC_UNKNOWN_OPTION'],
    ['no targets', () => lora(small(), { rank: 2, targets: [] }), 'ACC_INVALID_OPTION'],
    [
      'a star that would pass a slash',
      () => lora(small(), { rank: 2, targets: ['*/q_proj'] }),
      'ACC_LORA_TARGETS',
    ],
    [
      'a target without a layer',
      () => lora(small(), { rank: 2, targets: ['**/c_attn'] }),
      'ACC_LORA_TARGETS',
    ],
    ['adapters twice', () => lora(lora(small(), OPTIONS), OPTIONS), 'ACC_LORA_PRESENT'],
    ['a compiled model', () => lora(compiled(), OPTIONS), 'ACC_LORA_TOO_LATE'],
    ['merging nothing', () => mergeLora(small()), 'ACC_LORA_MISSING'],
  ])('%s', (_, act, code) => {
    expect(act).toThrowError(expect.objectContaining({ code }));
  });

  it('a hook on a layer whose class changes, and on no other', () => {
    const hook = (model: tf.LayersModel, name: string) => {
      const layer = [...nestedLayers(model.layers)].find((each) => (each as tf.layers.Layer).name === name);
      return patch(layer as unknown as LayerInternals, 'call', 'layer hooks', (own) => own);
    };
    const refused = expect.objectContaining({ code: 'ACC_LORA_TOO_LATE' }) as Error;
    const model = small();
    hook(model, 'norm');
    const undo = hook(model, 'lm_head');
    expect(() => lora(model, OPTIONS)).toThrow(refused);
    undo();
    lora(model, OPTIONS);
    hook(model, 'lm_head');
    expect(() => mergeLora(model)).toThrow(refused);
  });

  it('files of other adapters, of other models, and of none', async () => {
    const model = lora(small(), OPTIONS);
    const folder = newFolder();
    await saveLora(model, folder);
    const refused = (promise: Promise<unknown>, code: string) =>
      expect(promise).rejects.toMatchObject({ code });
    await refused(saveLora(small(), newFolder()), 'ACC_LORA_MISSING');
    await refused(savePretrained(model, newFolder()), 'ACC_LORA_PRESENT');
    await refused(loadLora(model, folder), 'ACC_LORA_PRESENT');
    await refused(loadLora(small(), newFolder()), 'ACC_MODEL_CONFIG_INVALID');
    const other = llama({
      vocab_size: 19,
      hidden_size: 16,
      intermediate_size: 20,
      num_hidden_layers: 1,
      num_attention_heads: 2,
    });
    const before = logitsOf(other);
    await expect(loadLora(other, folder)).rejects.toMatchObject({
      code: 'ACC_WEIGHTS_MISMATCH',
      details: {
        surplus: expect.arrayContaining([
          'base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight',
        ]) as unknown,
        misshapen: expect.arrayContaining([
          { name: 'base_model.model.lm_head.lora_A.weight', stored: [3, 12], here: [3, 16] },
        ]) as unknown,
      },
    });
    expect(logitsOf(other)).toEqual(before);
    expect(other.trainableWeights).toHaveLength(other.weights.length);
  });
});
