import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';

interface Trained {
  weights: number[][];
  iterations: number;
  norms?: number[];
  syncs?: boolean[];
  calls?: number;
  history?: Record<string, number[]>;
}
type Trainings = Record<string, Trained>;

const LOOPS = ['custom', 'tokens', 'fit', 'fitDataset'] as const;
/** The weights after two passes over 46 rows, in windows of 12. */
const STEPS = 8;

let alone: Trainings;
let pair: Trainings[];
let pairOnCpu: Trainings[];

beforeAll(async () => {
  const module = new URL('./ranks/accumulate.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  const train = (ranks: number, backend: string) => onRanks<Trainings>({ module, ranks, args: backend, env });
  alone = (await train(1, 'acc'))[0]!;
  pair = await train(2, 'acc');
  pairOnCpu = await train(2, 'cpu');
});

function expectSame(one: Trained, reference: Trained, tolerance = 1e-6): void {
  const close = { rtol: tolerance, atol: tolerance };
  expect(one.iterations).toBe(STEPS);
  one.weights.forEach((values, i) => expectClose(values, reference.weights[i]!, close));
  if (reference.norms) expectClose(one.norms!, reference.norms, { rtol: 1e-5 });
}

describe.each(LOOPS)('by %s', (loop) => {
  it("also on tfjs's cpu backend", () => {
    for (const rank of pairOnCpu) {
      expectSame(rank[`${loop} 3`]!, alone[`${loop} 1`]!, 1e-5);
      expectSame(rank[`${loop} 3 clipped`]!, alone[`${loop} 1 clipped`]!, 1e-5);
    }
  });

  it('micro-batches on 1 and 2 ranks take the steps of whole batches on one', () => {
    const whole = alone[`${loop} 1`]!;
    expect(whole.iterations).toBe(STEPS);
    expectSame(alone[`${loop} 3`]!, whole);
    for (const rank of pair) {
      expectSame(rank[`${loop} 1`]!, whole);
      expectSame(rank[`${loop} 3`]!, whole);
    }
  });

  it('clipping equals that of whole batches on one rank', () => {
    const whole = alone[`${loop} 1 clipped`]!;
    expect(whole.weights).not.toEqual(alone[`${loop} 1`]!.weights);
    expectSame(alone[`${loop} 3 clipped`]!, whole);
    for (const rank of pair) {
      expectSame(rank[`${loop} 1 clipped`]!, whole);
      expectSame(rank[`${loop} 3 clipped`]!, whole);
    }
  });
});

it('the norm before clipping can be read, the same on every rank', () => {
  expect(pair[0]!['custom 3 clipped']!.norms).toHaveLength(STEPS);
  expect(Math.max(...pair[0]!['custom 3 clipped']!.norms!)).toBeGreaterThan(0.3);
  expect(pair[1]!['custom 3 clipped']!.norms).toEqual(pair[0]!['custom 3 clipped']!.norms);
});

it('windows end at the same micro-batches on every rank', () => {
  const epoch = [...'001001001001'].map((digit) => digit === '1');
  for (const rank of pair) expect(rank['custom 3']!.syncs).toEqual([...epoch, ...epoch]);
});

it('micro-batches that each reduce their gradients take the same steps, with more collectives', () => {
  const whole = alone['custom 1']!;
  expectSame(alone['each 3']!, whole);
  for (const rank of [...pair, ...pairOnCpu]) {
    expectSame(rank['each 3']!, whole, 1e-5);
    // Two more reductions in each window of three micro-batches.
    const more = rank['each 3']!.calls! - rank['custom 3']!.calls!;
    expect(more).toBeGreaterThanOrEqual(2 * STEPS);
  }
});

it("fit's History covers all micro-batches of all ranks", () => {
  for (const loop of ['fit', 'fitDataset']) {
    for (const [name, values] of Object.entries(alone[`${loop} 3`]!.history!)) {
      for (const rank of pair) {
        expectClose(rank[`${loop} 3`]!.history![name]!, values, { rtol: 1e-5, atol: 1e-6 });
      }
    }
  }
});
