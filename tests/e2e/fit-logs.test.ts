import { expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';

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

async function told(ranks: number, backend: string): Promise<Told[]> {
  const script = new URL('./ranks/fit-logs.ts', import.meta.url);
  const results = await runRanks<Told>({ script, ranks, args: [backend], env: { OMP_NUM_THREADS: '1' } });
  for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
  return results.map(({ result }) => result!);
}

/** The same keys in the same places, and numbers that differ by rounding only. */
function expectSame(actual: Logs, wanted: Logs, what: string): void {
  const lists = (logs: Logs) => [logs.history, ...logs.begins, ...logs.ends, ...logs.epochs];
  const [own, others] = [lists(actual), lists(wanted)];
  expect(own.map(Object.keys), what).toEqual(others.map(Object.keys));
  const numbers = (all: object[]) => all.flatMap((one) => Object.values(one).flat() as number[]);
  expectClose(numbers(own), numbers(others), { rtol: 1e-5, atol: 1e-6 });
}

it("fitDataset's logs, with their sizes, are plain tfjs's on every one of 1, 2 and 3 ranks", async () => {
  const [alone] = await told(1, 'acc');
  const runs = [[alone!]];
  for (const backend of ['acc', 'cpu']) runs.push(await told(2, backend), await told(3, backend));
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
  expect(runs.map(([first]) => first!.backend)).toEqual(['acc', 'acc', 'acc', 'cpu', 'cpu']);
  const { begins, ends, history } = alone!.logs['a last batch that is empty on some rank']!;
  expect(begins.map(({ size }) => size)).toEqual([5, 5, 1, 5, 5, 1]);
  expect(Object.keys(ends[0]!)).toEqual(['batch', 'size', 'loss', 'mae', 'worst']);
  expect(history['loss']).toHaveLength(2);
});
