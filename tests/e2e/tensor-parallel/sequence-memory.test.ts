import { expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import { SAME_KERNELS } from '../same-kernels.js';
import { LLAMA_SEQUENCE, NORMS, SEQUENCE } from './plans.js';
import type { Case, Trained } from './ranks/models.js';

// What one more block keeps until backward, in activations [rows, length, width]. So weights and what
// only one block needs do not count.
const [ROWS, LENGTH, WIDTH] = [384, 12, 24];
const LARGE = { rows: ROWS, length: LENGTH, steps: 2 } as const;
/** Of a residual, and of a number for each token. */
const [ONE, STATISTIC] = [1, 1 / WIDTH];

interface Compared {
  readonly whole: Case;
  readonly along: Case;
  /** The layers of two models. */
  readonly layers: readonly [number, number];
  /** The bytes of a block that lie along the sequence. */
  readonly divided: number;
  /** Whether there is nothing else. */
  readonly isAll: boolean;
}

const MODELS: Record<string, Compared> = {
  norms: {
    whole: { ...LARGE, model: 'norms', plan: NORMS.whole, dropout: 0.1 },
    along: { ...LARGE, model: 'norms', plan: NORMS.along, dropout: 0.1 },
    layers: [2, 6],
    // The input of the norm, with its statistic, and a mask of bytes.
    divided: ONE + STATISTIC + ONE / 4,
    isAll: true,
  },
  gpt2: {
    whole: { ...LARGE, model: 'gpt2', plan: 'auto' },
    along: { ...LARGE, model: 'gpt2', plan: SEQUENCE },
    layers: [1, 2],
    // The inputs of two norms, with mean and deviation.
    divided: 2 * (ONE + 2 * STATISTIC),
    isAll: false,
  },
  llama: {
    whole: { ...LARGE, model: 'llama', plan: 'auto' },
    along: { ...LARGE, model: 'llama', plan: LLAMA_SEQUENCE },
    layers: [1, 2],
    divided: 2 * (ONE + STATISTIC),
    isAll: false,
  },
};
const NAMES = Object.keys(MODELS);

/** By model, what one more block keeps on a rank: whole, and along the sequence. */
async function kept(ranks: number): Promise<Map<string, readonly [whole: number, along: number]>> {
  const mesh = { tensor: ranks };
  const cases = Object.values(MODELS).flatMap(({ whole, along, layers }) =>
    [whole, along].flatMap((given) => layers.map((count): Case => ({ ...given, layers: count, mesh }))),
  );
  const ofRanks = await onRanks<Trained[]>({
    module: new URL('./ranks/models.ts', import.meta.url),
    ranks,
    args: cases,
    env: SAME_KERNELS,
  });
  const peaks = cases.map((_, i) => Math.max(...ofRanks.map((each) => each[i]!.peakBytes)));
  return new Map(
    NAMES.map((name, i) => {
      const [few, many] = MODELS[name]!.layers;
      const ofBlock = (at: number) =>
        (peaks[at + 1]! - peaks[at]!) / (many - few) / (4 * ROWS * LENGTH * WIDTH);
      return [name, [ofBlock(4 * i), ofBlock(4 * i + 2)]];
    }),
  );
}

it.each([2, 3])('what lies along the sequence takes its share of the memory on %i ranks', async (ranks) => {
  for (const [name, [whole, along]] of await kept(ranks)) {
    const { divided, isAll } = MODELS[name]!;
    const saved = divided * (1 - 1 / ranks);
    expect([name, whole - along > 0.95 * saved, whole - along < 1.05 * saved]).toEqual([name, true, true]);
    // Of the model that has nothing else, a rank keeps its share alone.
    if (isAll) expect(along / whole).toBeLessThan(1.05 / ranks);
  }
});
