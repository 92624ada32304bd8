import { expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import type { OldModels } from './ranks/old-models.js';

const module = new URL('./ranks/old-models.ts', import.meta.url);
const run = (ranks: number, stage: number) =>
  onRanks<OldModels>({ module, ranks, args: { stage }, env: { OMP_NUM_THREADS: '1' } });

it.each([1, 2, 3])(
  'in stage %i, a model whose Accelerator was freed does not disturb a later one that names no variables',
  async (stage) => {
    const ranks = await run(2, stage);
    for (const { weights, ofOld } of ranks) {
      expect(weights).toEqual(ranks[0]!.weights);
      expect(weights.flat().every(Number.isFinite)).toBe(true);
      expect(ofOld).toBe('ACC_SHARD_FREED');
    }
    expect(ranks[0]!.weights[0]!.every((weight) => weight < 1)).toBe(true);
  },
);
