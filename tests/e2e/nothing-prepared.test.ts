import { beforeAll, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

interface Found {
  /** The warnings of each program. */
  readonly found: Readonly<Record<string, readonly string[]>>;
  /** Of a program that takes many steps: the warnings until then, and at its end. */
  readonly during: number;
  readonly atEnd: number;
}

/** The programs of which rank 0 warns. */
const WARNED = [
  'a loop',
  'a loop that reduces its losses',
  'a loop with prepared data',
  'fit',
  'the axis pipeline',
  'the axis tensor',
  'the axis expert',
];
const WARNED_OF_DATA = [
  'a DataLoader that is not prepared',
  'a tf.data dataset that is not prepared',
  'a tf.data dataset of ready batches that is not prepared',
];
const MESSAGE =
  /^acc: no model and no optimizer is prepared.* accelerator\.prepare .* accelerator\.noSync\.$/;

let ranks: Found[];
let outputs: string[];
beforeAll(async () => {
  const script = new URL('./ranks/nothing-prepared.ts', import.meta.url);
  const results = await runRanks<Found>({ script, ranks: 2, env: { OMP_NUM_THREADS: '1' } });
  for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
  ranks = results.map(({ result }) => result!);
  outputs = results.map(({ stderr }) => stderr);
});

it.each(WARNED)('several ranks that each train a model of their own are warned once: %s', (name) => {
  expect(ranks[0]!.found[name]).toEqual([expect.stringMatching(MESSAGE)]);
  expect(ranks[1]!.found[name]).toEqual([]);
});

it.each(WARNED_OF_DATA)('ranks that train on the same batches are warned once: %s', (name) => {
  const same = expect.stringMatching(
    /^acc: data that is not prepared .*`const data = accelerator\.prepare\(/,
  );
  expect(ranks.map(({ found }) => found[name])).toEqual([[same], []]);
});

it('programs that mean it, or train another way, are not warned', () => {
  for (const { found } of ranks) {
    const others = Object.entries(found).filter(([name]) => ![...WARNED, ...WARNED_OF_DATA].includes(name));
    expect(others.map(([, warnings]) => warnings)).toEqual(Array(14).fill([]));
  }
});

it('the warning does not wait for the end of a long training, and is not repeated', () => {
  expect(ranks.map(({ during, atEnd }) => [during, atEnd])).toEqual([
    [1, 0],
    [0, 0],
  ]);
});

it('it also comes where the process ends without endTraining', () => {
  expect(outputs.map((stderr) => stderr.includes('no model and no optimizer is prepared'))).toEqual([
    true,
    false,
  ]);
});
