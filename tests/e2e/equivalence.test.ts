import { describe, expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';

interface Trained {
  backend: string;
  weights: number[][];
  losses: number[];
  replays: number;
}

const script = new URL('./ranks/train.ts', import.meta.url);

async function train(ranks: number, ...args: string[]): Promise<Trained[]> {
  const results = await runRanks<Trained>({ script, ranks, args, env: { OMP_NUM_THREADS: '1' } });
  for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
  return results.map(({ result }) => result!);
}

describe.each(['custom', 'fit', 'fitDataset'])('by %s', (loop) => {
  it.each(['sgd', 'adam'])('%s gives the same weights on 1, 2 and 3 ranks', async (optimizer) => {
    const [alone] = await train(1, loop, optimizer);
    for (const size of [2, 3]) {
      const all = await train(size, loop, optimizer);
      for (const one of all) {
        expect(one.weights).toEqual(all[0]!.weights);
        expectClose(one.losses, alone!.losses, { rtol: 1e-5, atol: 1e-6 });
        one.weights.forEach((values, i) =>
          expectClose(values, alone!.weights[i]!, { rtol: 1e-5, atol: 1e-6 }),
        );
      }
    }
    // The steps moved every weight.
    const untrained = await train(1, 'none', optimizer);
    alone!.weights.forEach((values, i) => expect(values).not.toEqual(untrained[0]!.weights[i]));
  });
});

describe('compiled', () => {
  it.each(['sgd', 'adam'])(
    '%s gives the weights of the plain loop on 1 and 2 ranks, bit for bit',
    async (optimizer) => {
      for (const size of [1, 2]) {
        const plain = await train(size, 'custom', optimizer);
        const compiled = await train(size, 'compiled', optimizer);
        compiled.forEach(({ weights, losses, replays }, rank) => {
          expect(weights).toEqual(plain[rank]!.weights);
          expect(losses).toEqual(plain[rank]!.losses);
          expect(replays).toBe(17);
        });
      }
    },
  );
});

it.each(['custom', 'fit'])('by %s two ranks on the backend cpu train as two on acc do', async (loop) => {
  const onAcc = await train(2, loop, 'adam', 'acc');
  const onCpu = await train(2, loop, 'adam', 'cpu');
  expect([onAcc[0]!.backend, onCpu[0]!.backend]).toEqual(['acc', 'cpu']);
  expect(onCpu[1]!.weights).toEqual(onCpu[0]!.weights);
  onCpu[0]!.weights.forEach((values, i) =>
    expectClose(values, onAcc[0]!.weights[i]!, { rtol: 1e-5, atol: 1e-6 }),
  );
  expectClose(onCpu[0]!.losses, onAcc[0]!.losses, { rtol: 1e-5, atol: 1e-6 });
});
