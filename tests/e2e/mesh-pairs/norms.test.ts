import { beforeAll, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Normed } from './ranks/norms.js';

type Results = Record<string, Normed>;

const CLOSE = { rtol: 1e-4, atol: 1e-5 };
const module = new URL('./ranks/norms.ts', import.meta.url);
const run = (ranks: number) => onRanks<Results>({ module, ranks, env: { OMP_NUM_THREADS: '1' } });

let alone: Normed;
let found: Results[];
beforeAll(async () => {
  alone = (await run(1))[0]!['alone']!;
  found = await run(4);
}, 320_000);

const isMoving = (name: string) => name.includes('moving');

it.each([
  'data × pipeline',
  'pipeline × fsdp, stage 1',
  'pipeline × fsdp, stage 2',
  'pipeline × fsdp, stage 3',
  'pipeline × fsdp, stage 3, without a bubble',
])('batch normalisation and frozen layers on %s: ranks train as one process', (name) => {
  for (const ofRank of found) {
    const { losses, weights, unchanged, left } = ofRank[name]!;
    expectClose(losses, alone.losses, CLOSE);
    expect(Object.keys(weights)).toEqual(Object.keys(alone.weights));
    for (const [key, values] of Object.entries(alone.weights)) {
      if (!isMoving(key)) expectClose(weights[key]!, values, CLOSE);
    }
    // Moving statistics are those of the micro-batches of the first rank that has the stage.
    for (const [key, values] of Object.entries(found[0]!['data × pipeline']!.weights)) {
      if (isMoving(key)) expectClose(weights[key]!, values, CLOSE);
    }
    expect(unchanged).toEqual(alone.unchanged);
    expect(left).toBe(1);
  }
  expect(alone.unchanged).toEqual(['b/kernel', 'b/bias', 'norm3/gamma', 'norm3/beta']);
  expect(alone.losses.at(-1)).toBeLessThan(alone.losses[0]!);
});
