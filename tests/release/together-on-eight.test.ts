import { beforeAll, describe, it } from 'vitest';
import { BF16, casesOn, FP16_GROWING } from '../e2e/mesh-pairs/cases-on-axes.js';
import { AGAIN, MeshComparison, type Cases } from '../e2e/mesh-pairs/compare-meshes.js';
import { SIGNS } from '../e2e/mesh-pairs/integers.js';
import type { Case, Trained } from '../e2e/mesh-pairs/train.js';

/** On one process. */
const SAME = {
  'integers in bf16': { model: 'integers', options: { ...SIGNS, ...AGAIN, ...BF16 } },
  'integers in fp16': { model: 'integers', options: { ...SIGNS, ...AGAIN, ...FP16_GROWING } },
} satisfies Record<string, Case>;
type Name = keyof typeof SAME;

const comparison = new MeshComparison<Name>(SAME);
const { casesOf } = casesOn(comparison);

const MESHES = ['data × tensor × pipeline', 'fsdp × tensor × pipeline', 'data × fsdp × tensor'];
const CASES: Cases<Name> = {
  ...casesOf('integers in bf16', MESHES),
  ...casesOf('integers in fp16', MESHES),
};

let found: Record<string, Trained[]>;

beforeAll(async () => {
  await comparison.trainAlone();
  found = await comparison.trainOn(8, CASES);
}, 600_000);

describe('clipping, accumulation, activation checkpoints and precision together', () => {
  it.each(Object.keys(CASES))('%s: ranks train as one', (name) => {
    comparison.expectTrainedAsOne(CASES[name]!, found[name]!);
  });
});
