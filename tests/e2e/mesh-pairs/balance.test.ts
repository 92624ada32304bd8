import { beforeAll, describe, expect, it } from 'vitest';
import { onlyInRelease } from '../../only-in-release.js';
import { expectNear } from '../transformer/compare.js';
import { MeshComparison, type Cases } from './compare-meshes.js';
import type { Case, Trained } from './train.js';

/** The parts of a batch need some steps until they make a difference that the last test sees. */
const BALANCED = { model: 'experts', balanceLoss: 0.05, steps: 8 } as const;

/** One process. The load-balancing loss is that of the rows of a rank, or of a micro-batch. */
const SAME = {
  'two parts': { ...BALANCED, pipelined: { microBatches: 2 } },
  'four parts': { ...BALANCED, pipelined: { microBatches: 4 } },
} satisfies Record<string, Case>;
type Name = keyof typeof SAME;

const comparison = new MeshComparison<Name>(SAME);
const onMesh = comparison.onMesh.bind(comparison);

const PLAIN = { pipelined: undefined };
const CUT = { plan: 'auto', ...PLAIN } as const;
const STAGED = { pipelined: { microBatches: 2 } };
const FSDP = { options: { strategy: 'fsdp' } } as const;
const CASES: Cases<Name> = {
  'data × expert': onMesh('four parts', { data: 2, expert: 2 }, PLAIN),
  'fsdp × tensor': onMesh('two parts', { fsdp: 2, tensor: 2 }, { ...CUT, ...FSDP }),
  'expert × tensor': onMesh('two parts', { expert: 2, tensor: 2 }, CUT),
  'pipeline × fsdp': onMesh('four parts', { pipeline: 2, fsdp: 2 }, { ...STAGED, ...FSDP }),
  'pipeline × expert': onMesh('four parts', { pipeline: 2, expert: 2 }, STAGED),
  'pipeline × tensor': onMesh('two parts', { pipeline: 2, tensor: 2 }, { ...STAGED, plan: 'auto' }),
  ...onlyInRelease({
    'data × tensor': onMesh('two parts', { data: 2, tensor: 2 }, CUT),
    'data × pipeline': onMesh('four parts', { data: 2, pipeline: 2 }, STAGED),
  }),
};

/** A rank has half of each sequence, and half of the rows in its part. No process alone has such parts. */
const IN_PIECES: Record<string, Case> = {
  'data × context': { ...BALANCED, mesh: { data: 2, context: 2 } },
  'expert × context': { ...BALANCED, mesh: { expert: 2, context: 2 } },
  'pipeline × context': { ...BALANCED, mesh: { pipeline: 2, context: 2 }, ...STAGED },
  ...onlyInRelease<Case>({ 'fsdp × context': { ...BALANCED, mesh: { fsdp: 2, context: 2 }, ...FSDP } }),
};
/** As these, with all rows. */
const CONTEXT_TENSOR: Case = { ...BALANCED, mesh: { context: 2, tensor: 2 }, plan: 'auto' };

let found: Record<string, Trained[]>;
let onTwo: Trained[];

beforeAll(async () => {
  await comparison.trainAlone();
  found = await comparison.trainOn(4, { ...CASES, ...IN_PIECES, 'context × tensor': CONTEXT_TENSOR });
  const context = { ...BALANCED, mesh: { context: 2 } };
  onTwo = (await comparison.trainOn(2, { context }))['context']!;
}, 600_000);

describe('experts with a load-balancing loss', () => {
  it.each(Object.keys(CASES))('%s: ranks train as one', (name) => {
    comparison.expectTrainedAsOne(CASES[name]!, found[name]!);
  });

  it.each(Object.keys(IN_PIECES))('%s: ranks train as on data × context', (name) => {
    expectAlike(found[name]!, found['data × context']![0]!);
  });

  it('context × tensor: ranks train as on context', () => {
    expectAlike(found['context × tensor']!, onTwo[0]!);
  });

  it('depends on the parts', () => {
    const [two, four] = [comparison.alone['two parts'], comparison.alone['four parts']];
    expect(Math.abs(two.losses.at(-1)! - four.losses.at(-1)!)).toBeGreaterThan(1e-4);
  });
});

function expectAlike(ofRanks: readonly Trained[], expected: Trained): void {
  for (const each of ofRanks) {
    expectNear(each.losses, expected.losses, 1e-4);
    for (const [name, values] of Object.entries(expected.weights)) {
      expectNear(each.weights[name]!, values, 1e-4, 1);
    }
    expect(each.left).toBe(1);
  }
}
