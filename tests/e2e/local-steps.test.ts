import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';

interface Result {
  runs: Record<string, number[][]>;
  extra: number;
  leaked: number;
}

const RATE = 0.1;
const STEPS = 6;
const SIZE = 2;
const close = (a: unknown, b: unknown) =>
  expectClose(a as number[], b as number[], { rtol: 1e-5, atol: 1e-5 });

/**
 * SGD on |w - target|² in plain numbers: each rank's weights after each step. `meet` changes them.
 */
function simulate(every: number, meet: (means: number[], before: number[]) => number[]): number[][][] {
  let before = [1, -2, 3];
  const ranks = Array.from({ length: SIZE }, () => [...before]);
  const history: number[][][] = Array.from({ length: SIZE }, () => []);
  const meetNow = () => {
    const means = before.map((_, i) => ranks.reduce((sum, w) => sum + w[i]!, 0) / SIZE);
    before = meet(means, before);
    ranks.forEach((w) => w.splice(0, w.length, ...before));
  };
  for (let step = 0; step < STEPS; step++) {
    ranks.forEach((w, r) => {
      const target = [r, step, r * step];
      target.forEach((t, i) => (w[i] = w[i]! - RATE * 2 * (w[i]! - t)));
    });
    if ((step + 1) % every === 0) meetNow();
    ranks.forEach((w, r) => history[r]!.push([...w]));
  }
  if (STEPS % every > 0) meetNow();
  ranks.forEach((w, r) => history[r]!.push([...w]));
  return history;
}

describe('ranks that average parameters every few steps', () => {
  let ranks: Result[];

  beforeAll(async () => {
    const module = new URL('./ranks/local-steps.ts', import.meta.url);
    ranks = await onRanks<Result>({ module, ranks: SIZE, env: { OMP_NUM_THREADS: '1' } });
  });

  it('LocalSGD after each step equals data parallelism', () => {
    ranks.forEach(({ runs }) => {
      close(runs['localEach'], runs['plain']);
      expect(runs['disabled']).toEqual(runs['plain']);
    });
  });

  it('LocalSGD averages parameters every k steps and at the end', () => {
    const expected = simulate(4, (means) => means);
    ranks.forEach(({ runs }, rank) => close(runs['local'], expected[rank]));
    expect(ranks[0]!.runs['local']![0]).not.toEqual(ranks[1]!.runs['local']![0]);
  });

  it('DiLoCo with an outer rate of 1 averages', () => {
    ranks.forEach(({ runs }) => close(runs['averaging'], runs['local']));
  });

  it('DiLoCo takes outer steps with Nesterov momentum', () => {
    const velocity = [0, 0, 0];
    const expected = simulate(2, (means, before) =>
      before.map((x, i) => {
        const difference = x - means[i]!;
        velocity[i] = 0.9 * velocity[i]! + difference;
        return x - 0.7 * (difference + 0.9 * velocity[i]!);
      }),
    );
    ranks.forEach(({ runs }, rank) => close(runs['diloco'], expected[rank]));
  });

  it('DiLoCo continues from its state', () => {
    ranks.forEach(({ runs }) => expect(runs['dilocoResumed']).toEqual(runs['diloco']));
  });

  it('do not communicate in between, and leave no tensor behind', () => {
    expect(ranks.map(({ extra }) => extra)).toEqual([0, 1]);
    expect(ranks[1]!.runs['uneven']!.at(-1)).toEqual(ranks[0]!.runs['uneven']!.at(-1));
    expect(ranks.map(({ leaked }) => leaked)).toEqual([0, 0]);
  });
});
