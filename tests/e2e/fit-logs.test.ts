import { expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';

interface Logs {
  history: Record<string, number[]>;
  begins: Record<string, number>[];
  ends: Record<string, number>[];
  epochs: Record<string, number>[];
}

interface Told {
  backend: string;
  plain: Record<string, Logs>;
  logs: Record<string, Logs>;
}

const BACKENDS = ['acc', 'cpu'];

function told(ranks: number): Promise<Record<string, Told>[]> {
  const module = new URL('./ranks/fit-logs.ts', import.meta.url);
  return onRanks({ module, ranks, args: BACKENDS, env: { OMP_NUM_THREADS: '1' } });
}

/** Expects the same keys in the same places, and numbers that differ only by rounding. */
function expectSame(actual: Logs, wanted: Logs, what: string): void {
  const lists = (logs: Logs) => [logs.history, ...logs.begins, ...logs.ends, ...logs.epochs];
  const [own, others] = [lists(actual), lists(wanted)];
  expect(own.map(Object.keys), what).toEqual(others.map(Object.keys));
  const numbers = (all: object[]) => all.flatMap((one) => Object.values(one).flat() as number[]);
  expectClose(numbers(own), numbers(others), { rtol: 1e-5, atol: 1e-6 });
}

it('the logs of fitDataset, and their sizes, equal those of plain tfjs on each of 1, 2 and 3 ranks', async () => {
  const all = [await told(1), await told(2), await told(3)];
  const alone = all[0]![0]!['acc'];
  const runs = BACKENDS.flatMap((backend) => all.map((ranks) => ranks.map((rank) => rank[backend]!)));
  for (const ranks of runs) {
    for (const [rank, one] of ranks.entries()) {
      const wanted: Record<string, Logs> = { ...one.plain, accumulation: alone!.logs['accumulation']! };
      expect(Object.keys(one.logs).sort()).toEqual(Object.keys(wanted).sort());
      for (const [name, logs] of Object.entries(one.logs)) {
        const what = `${name} on ${one.backend}, rank ${rank} of ${ranks.length}`;
        expectSame(logs, wanted[name]!, what);
        expect(logs, what).toEqual(ranks[0]!.logs[name]);
      }
    }
  }
  expect(runs.map(([first]) => first!.backend)).toEqual(['acc', 'acc', 'acc', 'cpu', 'cpu', 'cpu']);
  const { begins, ends, history } = alone!.logs['a last batch that is empty on some rank']!;
  expect(begins.map(({ size }) => size)).toEqual([5, 5, 1, 5, 5, 1]);
  expect(Object.keys(ends[0]!)).toEqual(['batch', 'size', 'loss', 'mae', 'worst']);
  expect(history['loss']).toHaveLength(2);
});
