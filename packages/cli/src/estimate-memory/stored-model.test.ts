import { describe, expect, it } from 'vitest';
import { sizesOf } from '@acc/planner/memory';
import { parametersAmong, readModelJson } from './stored-model.js';

describe('stored tensors', () => {
  it('are parameters, but for buffers', () => {
    const stored = [
      { name: 'h.0.attn.bias', shape: [1, 1, 1024, 1024] },
      { name: 'h.0.attn.masked_bias', shape: [] },
      { name: 'h.0.attn.c_attn.bias', shape: [2304] },
      { name: 'model.layers.0.self_attn.rotary_emb.inv_freq', shape: [64] },
      { name: 'visual.attn.bias', shape: [8] },
    ];
    expect(parametersAmong(stored).map(({ name }) => name)).toEqual([
      'h.0.attn.c_attn.bias',
      'visual.attn.bias',
    ]);
  });

  it('of quantized weights are held as they are stored, and not trained', () => {
    const stored = [
      { name: 'dense/kernel:nf4.group64.last', shape: [128, 9] },
      { name: 'dense/bias', shape: [128] },
    ];
    expect(sizesOf(parametersAmong(stored), undefined)).toMatchObject({ parameters: 1280, trainable: 128 });
  });

  it('are grouped by layer', () => {
    const stored = [
      { name: 'model.embed_tokens.weight', shape: [10, 4] },
      { name: 'model.layers.0.self_attn.q_proj.weight', shape: [4, 4] },
      { name: 'model.layers.0.mlp.up_proj.weight', shape: [8, 4] },
      { name: 'model.layers.1.mlp.up_proj.weight', shape: [8, 4] },
    ];
    const model = sizesOf(parametersAmong(stored), undefined);
    expect(model).toMatchObject({ parameters: 120, layerSizes: [40, 48, 32], largestTensor: 40 });
  });
});

describe('a model.json', () => {
  const weights = [
    { name: 'dense/kernel', shape: [3, 5], dtype: 'float32' },
    { name: 'dense/bias', shape: [5], dtype: 'float32' },
    { name: 'batch_normalization/gamma', shape: [5], dtype: 'float32' },
    { name: 'batch_normalization/moving_mean', shape: [5], dtype: 'float32' },
    { name: 'head/kernel', shape: [5, 2], dtype: 'float32' },
  ];
  const config = { layers: [{ class_name: 'Dense', config: { name: 'dense', trainable: false } }] };
  const modelTopology = { model_config: { class_name: 'Sequential', config } };
  const weightsManifest = [{ paths: ['group1-shard1of1.bin'], weights }];

  it('has parameters, of which frozen layers and moving statistics are not trained', () => {
    const model = sizesOf(readModelJson({ modelTopology, weightsManifest }, 'model.json'), undefined);
    // Of matrices [3, 5] and [5, 2] rows and columns, of vectors all and one.
    expect(model).toMatchObject({
      parameters: 40,
      trainable: 15,
      largestTensor: 10,
      factored: 5 + 1 + 5 + 2,
    });
  });

  it.each([
    ['no manifest', {}],
    ['a manifest that is no list', { weightsManifest: {} }],
    ['a group without weights', { weightsManifest: [null] }],
    ['a weight without shape', { weightsManifest: [{ weights: [{ name: 'dense/kernel' }] }] }],
  ])('with %s is refused', (_, json) => {
    expect(() => readModelJson(json, 'model.json')).toThrowError(
      expect.objectContaining({ code: 'ACC_MODEL_JSON_INVALID' }),
    );
  });
});
