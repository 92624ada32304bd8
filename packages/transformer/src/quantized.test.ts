import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { quantize } from '@acc/quantization';
import { llama, lora, mergeLora } from './index.js';

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
