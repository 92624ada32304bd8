// A GPT-2 in the Hub's files is fine-tuned twice: with all but its last block frozen, and with adapters
// (LoRA). `--model` names a folder with config.json and model.safetensors, such as that of GPT-2 itself.
// Without it, a small model is first trained on half of a text and saved into `--folder` in that layout.
//   npx acc launch -n 2 examples/fine-tune/train.ts [--model models/gpt2] [--steps 20] [--rank 8]
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Accelerator, DataLoader, adamw, setSeed } from '@acc/core';
import { generate, gpt2, loadPretrained, lora, mergeLora, saveLora, savePretrained } from '@acc/transformer';
import * as tf from '@tensorflow/tfjs';
import { lossOf } from './next-tokens.js';
import { VOCABULARY, decode, encode, stretches } from './tokens.js';

const { values: given } = parseArgs({
  options: {
    model: { type: 'string' },
    folder: { type: 'string', default: 'fine-tuned' },
    steps: { type: 'string', default: '20' },
    pretrain: { type: 'string', default: '60' },
    length: { type: 'string', default: '48' },
    rank: { type: 'string', default: '8' },
    'batch-size': { type: 'string', default: '16' },
  },
});
const [steps, pretrainSteps, length, rank, batchSize] = [
  given.steps,
  given.pretrain,
  given.length,
  given.rank,
  given['batch-size'],
].map(Number) as [number, number, number, number, number];

const accelerator = await Accelerator.create({
  dataLoader: { splitBatches: true },
  gradientClipping: { norm: 1 },
});
const folder = given.model ?? (await pretrain(join(given.folder, 'base')));

const frozen = await loadPretrained(folder);
const lastBlock = frozen.layers.findLast(({ name }) => name.startsWith('h.'))!;
for (const layer of frozen.layers) layer.trainable = layer === lastBlock;
await train('frozen', frozen, 'second', steps);
await savePretrained(frozen, join(given.folder, 'frozen'), { write: accelerator.isMainProcess });
frozen.dispose();

setSeed(3);
const adapted = lora(await loadPretrained(folder), { rank, alpha: 2 * rank, targets: ['**/attn/c_attn'] });
await train('lora', adapted, 'second', steps);
await saveLora(adapted, join(given.folder, 'adapter'), { write: accelerator.isMainProcess });

const prompt = encode('MENENIUS:\n');
const text = generate(mergeLora(adapted), [[...prompt]], { maxNewTokens: length - prompt.length, seed: 1 });
accelerator.print(decode(await text.data()));
text.dispose();
await accelerator.endTraining();

/** Trains what is trainable of a model, and prints its loss on rows that are held back. */
async function train(
  name: string,
  model: tf.LayersModel,
  part: 'first' | 'second',
  stepCount: number,
): Promise<void> {
  const trainable = model.trainableWeights.map((weight) => weight.read() as tf.Variable);
  const trained = trainable.reduce((sum, { size }) => sum + size, 0);
  accelerator.print(`${name}: ${trained} of ${model.countParams()} weights are trainable`);
  const rows = stretches(part, length, batchSize * (stepCount + 1));
  const heldBack = tf.stack(rows.splice(0, batchSize).map((row) => tf.tensor1d(row, 'int32')));
  const [optimizer, , data] = accelerator.prepare(
    adamw({ learningRate: 3e-3, weightDecay: 0 }),
    model,
    new DataLoader(rows, { batchSize, dropLast: true }),
  );
  const before = await measure(model, heldBack);
  for await (const tokens of data) {
    optimizer.minimize(() => lossOf(model, tokens, true), false, trainable);
    tokens.dispose();
  }
  const after = await measure(model, heldBack);
  accelerator.print(`${name}: loss ${before.toFixed(6)} before, loss ${after.toFixed(6)} after`);
  heldBack.dispose();
}

async function measure(model: tf.LayersModel, tokens: tf.Tensor): Promise<number> {
  const loss = tf.tidy(() => lossOf(model, tokens, false));
  const [value] = await loss.data();
  loss.dispose();
  return value!;
}

/** Trains a small GPT-2 on the first half of the text. @returns The folder that has it. */
async function pretrain(to: string): Promise<string> {
  setSeed(7);
  const dropout = { resid_pdrop: 0, embd_pdrop: 0, attn_pdrop: 0 };
  const sizes = { n_embd: 48, n_layer: 2, n_head: 4, n_positions: length };
  const model = gpt2({ vocab_size: VOCABULARY, ...sizes, ...dropout });
  await train('pretrained', model, 'first', pretrainSteps);
  await savePretrained(model, to, { write: accelerator.isMainProcess });
  accelerator.waitForEveryone();
  model.dispose();
  return to;
}
