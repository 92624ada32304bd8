import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';
import type { Trained, Training } from './ranks/train.js';

const LOOPS = ['custom', 'fit', 'fitDataset', 'compiled', 'none'] as const;
const OPTIMIZERS = ['sgd', 'adam'] as const;
const TRAININGS: Training[] = [
  ...OPTIMIZERS.flatMap((optimizer) => LOOPS.map((loop) => ({ loop, optimizer, backend: 'acc' }) as const)),
  { loop: 'custom', optimizer: 'adam', backend: 'cpu' },
  { loop: 'fit', optimizer: 'adam', backend: 'cpu' },
];

/** Results by the number of ranks, the rank, and the index in TRAININGS. */
const trained = new Map<number, Trained[][]>();

beforeAll(async () => {
  const module = new URL('./ranks/train.ts', import.meta.url);
  for (const ranks of [1, 2, 3]) {
    const env = { OMP_NUM_THREADS: '1' };
    const options = { module, ranks, args: TRAININGS, env };
    trained.set(ranks, await onRanks<Trained[]>(options));
  }
}, 360_000);

/** The results of each rank of a job with this many ranks. */
function of(
  ranks: number,
  loop: Training['loop'],
  optimizer: Training['optimizer'],
  backend: Training['backend'] = 'acc',
): Trained[] {
  const place = TRAININGS.findIndex(
    (each) => each.loop === loop && each.optimizer === optimizer && each.backend === backend,
  );
  return trained.get(ranks)!.map((results) => results[place]!);
}

const CLOSE = { rtol: 1e-5, atol: 1e-6 };

describe.each(['custom', 'fit', 'fitDataset'] as const)('by %s', (loop) => {
  it.each(OPTIMIZERS)('%s gives the same weights on 1, 2 and 3 ranks', (optimizer) => {
    const [alone] = of(1, loop, optimizer);
    for (const size of [2, 3]) {
      const all = of(size, loop, optimizer);
      for (const one of all) {
        expect(one.weights).toEqual(all[0]!.weights);
        expectClose(one.losses, alone!.losses, CLOSE);
        one.weights.forEach((values, i) => expectClose(values, alone!.weights[i]!, CLOSE));
      }
    }
    // The steps moved every weight.
    const [untrained] = of(1, 'none', optimizer);
    alone!.weights.forEach((values, i) => expect(values).not.toEqual(untrained!.weights[i]));
  });
});

describe('compiled', () => {
  it.each(OPTIMIZERS)(
    '%s gives the weights of the plain loop on 1, 2 and 3 ranks, bit for bit',
    (optimizer) => {
      for (const size of [1, 2, 3]) {
        const plain = of(size, 'custom', optimizer);
        of(size, 'compiled', optimizer).forEach(({ weights, losses, replays }, rank) => {
          expect(weights).toEqual(plain[rank]!.weights);
          expect(losses).toEqual(plain[rank]!.losses);
          expect(replays).toBe(17);
        });
      }
    },
  );
});

describe.each([1, 2, 3])('on the backend cpu, %d ranks', (size) => {
  it.each(['custom', 'fit'] as const)('training by %s equals that on acc', (loop) => {
    const onAcc = of(size, loop, 'adam', 'acc');
    const onCpu = of(size, loop, 'adam', 'cpu');
    onCpu.forEach(({ backend, weights, losses }, rank) => {
      expect([onAcc[rank]!.backend, backend]).toEqual(['acc', 'cpu']);
      expect(weights).toEqual(onCpu[0]!.weights);
      weights.forEach((values, i) => expectClose(values, onAcc[rank]!.weights[i]!, CLOSE));
      expectClose(losses, onAcc[rank]!.losses, CLOSE);
    });
  });
});
