import { beforeAll, describe, expect, inject, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import { SAME_KERNELS } from '../same-kernels.js';
import { LLAMA_SEQUENCE, NORMS } from './plans.js';
import type { Case, Trained } from './ranks/models.js';

// Queries, keys and values are made by three matrices, and so are gate and up.
const [WIDTH, LAYERS, LENGTH] = [24, 2, 12];
const AUTO = { model: 'llama', plan: 'auto', length: LENGTH } as const;
const ALONG = { ...AUTO, plan: LLAMA_SEQUENCE };
const APART = { model: 'apart', plan: 'auto', length: LENGTH, steps: 2 } as const;
const CLIPPED = { gradientClipping: { norm: 0.5 }, gradientAccumulationSteps: 2 } as const;
const SHORT = { steps: 6 };
/** Residuals, norms and dropout between an embedding and logits that are cut by tokens. */
const DROPPED = { model: 'norms', dropout: 0.1, length: LENGTH, steps: 3 } as const;

const CASES = {
  auto: AUTO,
  'along the sequence': ALONG,
  'along the sequence, compiled': { ...ALONG, compile: {} },
  'along the sequence, clipped': { ...ALONG, ...SHORT, options: CLIPPED },
  'along the sequence, checkpointed': { ...ALONG, ...SHORT, options: { checkpointEvery: 1 } },
  'along the sequence, dropped': { ...ALONG, ...SHORT, dropout: 0.2 },
  'with one more block': { ...AUTO, steps: 2, layers: LAYERS + 1 },
  'along the sequence, with one more block': { ...ALONG, steps: 2, layers: LAYERS + 1 },
  'with biases': APART,
  'with biases, with one more block': { ...APART, layers: LAYERS + 1 },
  'residuals alone': { ...DROPPED, plan: NORMS.whole },
  'residuals alone, along the sequence': { ...DROPPED, plan: NORMS.along },
} satisfies Record<string, Case>;
type Name = keyof typeof CASES;
const NAMES = Object.keys(CASES) as Name[];

async function train(ranks: number): Promise<Record<Name, Trained[]>> {
  const mesh = ranks > 1 && { mesh: { tensor: ranks } };
  const found = await onRanks<Trained[]>({
    module: new URL('./ranks/models.ts', import.meta.url),
    ranks,
    args: NAMES.map((name): Case => ({ ...CASES[name], ...mesh })),
    env: SAME_KERNELS,
  });
  return Object.fromEntries(NAMES.map((name, i) => [name, found.map((each) => each[i]!)])) as never;
}

let alone: Record<Name, Trained[]>;
beforeAll(async () => {
  alone = await train(1);
});

describe.each(inject('isRelease') ? [2, 3] : [2])('Llama on %i ranks', (ranks) => {
  let found: Record<Name, Trained[]>;
  beforeAll(async () => {
    found = await train(ranks);
  });

  it.each(NAMES)('%s: losses and weights are those of one process', (name) => {
    const [expected] = alone[name] as [Trained];
    for (const { losses, weights, dict, left } of found[name]) {
      expectClose(losses, expected.losses, { rtol: 1e-4 });
      expectClose(weights, expected.weights, { rtol: 1e-4, atol: 1e-5 });
      expect(dict).toEqual(weights);
      expect(left).toBeLessThanOrEqual(1);
    }
  });

  it.each(['auto', 'along the sequence'] as const)('%s: makes the text of one process', (name) => {
    const [{ text }] = alone[name] as [Trained];
    expect(text.map((row) => row.length)).toEqual([3 + 4, 3 + 4]);
    for (const each of found[name]) expect(each.text).toEqual(text);
  });

  const calls = (name: Name, part: 'sent' | 'sentForward') => found[name][0]![part]['tensor']!.calls;
  const bytes = (name: Name) => found[name][0]!.sent['tensor']!.bytes;

  it.each([
    ['auto', 'with one more block'],
    ['with biases', 'with biases, with one more block'],
  ] as const)('%s: a block adds up twice forward and twice backward', (name, more) => {
    expect(calls(more, 'sentForward') - calls(name, 'sentForward')).toBe(2);
    expect(calls(more, 'sent') - calls(name, 'sent')).toBe(2 + 2);
  });

  it('counts the embedding, the input of the logits, and three numbers a token for the loss', () => {
    expect(calls('auto', 'sentForward')).toBe(2 * LAYERS + 1);
    expect(calls('auto', 'sent')).toBe(4 * LAYERS + 2 + 3);
  });

  it('the same bytes travel along the sequence, besides gradients of norms', () => {
    // Two norms of a block and the last one, added up by a ring.
    const gradients = (norms: number) => 4 * WIDTH * norms * ((2 * (ranks - 1)) / ranks);
    expect(bytes('along the sequence') - bytes('auto')).toBe(gradients(2 * LAYERS + 1));
    expect(bytes('along the sequence, with one more block') - bytes('with one more block')).toBe(
      gradients(2 * (LAYERS + 1) + 1),
    );
  });

  it('a compiled step has the bits of a plain one, and sends the same', () => {
    for (const [rank, compiled] of found['along the sequence, compiled'].entries()) {
      const plain = found['along the sequence'][rank]!;
      expect([compiled.replays, compiled.reason]).toEqual([7, undefined]);
      expect(compiled.losses).toEqual(plain.losses);
      expect(compiled.sent).toEqual(plain.sent);
    }
  });
});
