import { beforeAll, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import { SAME_KERNELS } from '../same-kernels.js';
import type { Ways } from './ranks/compiled-recurrent.js';

const NAMES = ['lstm', 'gru', 'simpleRNN', 'bidirectional lstm'];
const CLOSE = { rtol: 1e-4, atol: 1e-6 };

const found = new Map<number, Record<string, Ways>[]>();
beforeAll(async () => {
  const module = new URL('./ranks/compiled-recurrent.ts', import.meta.url);
  for (const ranks of [1, 2]) {
    const given = { module, ranks, env: SAME_KERNELS };
    found.set(ranks, await onRanks<Record<string, Ways>>(given));
  }
});

it.each(NAMES)('%s: replays on two ranks give the bits of plain steps, and train as one process', (name) => {
  const alone = found.get(1)![0]![name]!.plain;
  for (const ofRank of found.get(2)!) {
    const { plain, compiled } = ofRank[name]!;
    expect([compiled.replays, compiled.reason]).toEqual([17, undefined]);
    expect(compiled.losses).toEqual(plain.losses);
    expect(compiled.weights).toEqual(plain.weights);
    expectClose(compiled.losses, alone.losses, CLOSE);
    expectClose(compiled.weights, alone.weights, CLOSE);
    expect([plain.left, compiled.left]).toEqual([1, 1]);
  }
  expect(alone.losses.at(-1)).not.toBe(alone.losses[0]);
});

it('with dropout: a compiled step draws anew, is not replayed, and trains as one process', () => {
  const alone = found.get(1)![0]!['lstm with dropout']!.plain;
  for (const ofRank of found.get(2)!) {
    const { compiled } = ofRank['lstm with dropout']!;
    expect(compiled.replays).toBe(0);
    expect(compiled.reason).toMatch(/draws numbers in JavaScript/);
    expectClose(compiled.losses, alone.losses, CLOSE);
    expectClose(compiled.weights, alone.weights, CLOSE);
  }
});
