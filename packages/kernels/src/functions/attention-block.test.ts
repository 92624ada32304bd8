import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import type { AttentionBlockSettings } from '@acc/contract';
import { registerAccBackend } from '../register-backend.js';
import { wave } from '../testing/function-gradients.js';
import { attentionBlock, attentionBlockGradient } from './attention-block.js';

beforeAll(() => registerAccBackend());

const [B, H, L, D] = [2, 4, 5, 8];

/** Batch 0 hides all keys from query 0, or, of keys alone, key 0. */
const maskOf = (rows: number, dtype: 'bool' | 'float32') => {
  const values = Array.from({ length: B * rows * L }, (_, i) => {
    const [batch, row, key] = [Math.floor(i / (rows * L)), Math.floor(i / L) % rows, i % L];
    return batch > 0 || row > 0 || (rows === 1 && key > 0);
  });
  const numbers = values.map((isSeen) => (dtype === 'bool' ? Number(isSeen) : isSeen ? 0.2 : -Infinity));
  return tf.tensor(numbers, [B, 1, rows, L], dtype);
};

const CASES: Record<string, { kvHeads?: number; isCausal?: boolean; mask?: () => tf.Tensor }> = {
  plain: {},
  causal: { isCausal: true },
  grouped: { kvHeads: 2 },
  'a query that sees nothing': { mask: () => maskOf(L, 'bool') },
  'the same by -Infinity, causal': { mask: () => maskOf(L, 'float32'), isCausal: true },
  'keys that are hidden, causal': { mask: () => maskOf(1, 'bool'), isCausal: true },
};

/** Block, and gradients with the block as if it were all. */
async function resultsOn(backend: string, { kvHeads = H, isCausal = false, mask }: (typeof CASES)[string]) {
  await tf.setBackend(backend);
  return tf.tidy(() => {
    const q = wave([B, H, L, D]);
    const qkv = [q, wave([B, kvHeads, L, D], 1), wave([B, kvHeads, L, D], 2)] as const;
    const settings: AttentionBlockSettings = { isCausal, scale: 0.4, mask: mask?.() };
    const block = attentionBlock(qkv, settings);
    const grads = attentionBlockGradient(wave([B, H, L, D], 3), qkv, block, settings);
    // Sums over no key are below -1e29, and only that counts.
    const sums = tf.maximum(block.logSums, -1e29);
    return [block.output, sums, ...grads].map((x) => x.arraySync()) as never;
  }) as number[][][][][];
}

it.each(Object.keys(CASES))('%s: acc gives what plain ops give', async (name) => {
  const expected = await resultsOn('cpu', CASES[name]!);
  expectClose(await resultsOn('acc', CASES[name]!), expected, { rtol: 1e-5, atol: 3e-6 });
  const isBlind = CASES[name]!.mask !== undefined;
  expect(expected[1]!.flat(3).some((sum) => (sum as unknown as number) <= -1e28)).toBe(isBlind);
});
