import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { setNumThreads } from '@acc/native';
import { loadLora, loadPretrained, mergeLora, saveLora } from '@acc/transformer';
import { expectNear, flat, rms } from './compare.js';
import { lossOf } from './loss.js';
import { GPT2, LLAMA, tokensOf } from './models.js';
import { newFolder, Reference } from './reference.js';

let reference: Reference;
/** The installation of packages of Python may take minutes at first. */
const LONGEST_MS = 600_000;

beforeAll(async () => {
  registerAccBackend();
  setNumThreads(1);
  await tf.setBackend('acc');
  reference = await Reference.start();
}, LONGEST_MS);
afterAll(() => reference.close());

it.each([
  ['gpt2', GPT2, ['c_attn', 'mlp.c_proj']],
  ['llama', LLAMA, ['q_proj', 'v_proj', 'down_proj']],
] as const)(
  '%s computes and differentiates with adapters of PEFT, and PEFT with ours',
  async (kind, config, targets) => {
    const [folder, adapter, copy] = [newFolder(), newFolder(), newFolder()];
    const tokens = tokensOf(2, 7, 60);
    await reference.ask('make', { folder, kind, tokens, config });
    const theirs = await reference.ask('adapt', {
      folder,
      adapter,
      kind,
      tokens,
      targets,
      rank: 3,
      alpha: 12,
    });
    const model = await loadLora(await loadPretrained(folder), adapter);
    const batch = tf.tensor2d(tokens, undefined, 'int32');
    expectNear(flat(model.predict(batch) as tf.Tensor), theirs.logits);
    const { value, grads } = tf.variableGrads(() => lossOf(model, batch));
    expectNear(flat(value), [theirs.loss]);
    // Theirs has a layer's matrices in the order A, B, too.
    const expected = Object.values(theirs.gradients);
    expect(model.trainableWeights).toHaveLength(expected.length);
    const size = Math.max(...expected.map(rms));
    const byLayer = new Map(Object.entries(theirs.gradients));
    for (const weight of model.trainableWeights) {
      const [path, which] = weight.originalName.split('/lora_') as [string, string];
      const module = path.replaceAll('/', '.').replace('.attn', kind === 'llama' ? '.self_attn' : '.attn');
      const name = [...byLayer.keys()].find((key) => key.includes(`.${module}.lora_${which}.`))!;
      expectNear(flat(tf.transpose(grads[weight.name]!)), byLayer.get(name)!, 1e-4, size);
    }
    await saveLora(model, copy);
    const read = await reference.ask('read_adapter', { folder, adapter: copy, kind, tokens });
    expectNear(read.logits, theirs.logits);
    expectNear(flat(mergeLora(model).predict(batch) as tf.Tensor), theirs.logits);
  },
);
