import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import { SAME_KERNELS } from '../same-kernels.js';
import type { Kept, KeptArgs } from './ranks/kept.js';

type Weights = Record<string, number[][]>;

const GLOBAL = ['global batches', 'global batches in fit'];
const LOOPS = [
  'custom',
  'large',
  'in windows',
  'compressed',
  'in 16 bits',
  'in 8 bits',
  'fit',
  'fit in windows',
  ...GLOBAL,
];
const STOPS = [3, 6];
let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'acc-resume-'))));
afterAll(() => rm(folder, { recursive: true }));

/** @param loops Names of some loops. Default: all. */
async function train(
  ranks: number,
  action: string,
  place: string,
  loops: readonly string[] = LOOPS,
): Promise<Weights[]> {
  const results = await runRanks<Weights>({
    script: new URL('./ranks/resume.ts', import.meta.url),
    ranks,
    args: [action, place, ...loops],
    env: SAME_KERNELS,
  });
  for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
  return results.map(({ result }) => result!);
}

const wholes = new Map<number, Promise<Weights>>();
/** The results of uninterrupted ranks. They also save, in the folder for their number of ranks. */
function wholeOf(ranks: number): Promise<Weights> {
  const known = wholes.get(ranks) ?? train(ranks, 'whole', placeOf(ranks)).then(([first]) => first!);
  wholes.set(ranks, known);
  return known;
}
const placeOf = (ranks: number) => join(folder, String(ranks));

describe.each([1, 2])('on %i ranks, in new processes', (ranks) => {
  let whole: Weights;
  let resumed: Weights;
  beforeAll(async () => {
    whole = await wholeOf(ranks);
    const all = await train(ranks, 'resume', placeOf(ranks));
    resumed = all[0]!;
    for (const rank of all) expect(rank).toEqual(resumed);
  }, 500_000);

  it.each(LOOPS.flatMap((loop) => STOPS.map((stop) => [loop, stop] as const)))(
    '%s, stopped after %i batches, ends with the same weights',
    (loop, stop) => {
      expect(whole[loop]!.flat().every(Number.isFinite)).toBe(true);
      expect(resumed[`${loop} ${stop}`]).toEqual(whole[loop]);
    },
  );
});

describe.each([1, 3])('on %i ranks, a checkpoint of two ranks', (ranks) => {
  it('is continued with the same batches, and with the gradients of the open window', async () => {
    const whole = await wholeOf(2);
    const [resumed] = (await train(ranks, 'resume', placeOf(2), GLOBAL)) as [Weights];
    for (const loop of GLOBAL) {
      for (const stop of STOPS) {
        const values = resumed[`${loop} ${stop}`]!;
        values.forEach((x, i) => expectClose(x, whole[loop]![i]!, { rtol: 1e-4, atol: 1e-5 }));
      }
    }
  }, 500_000);
});

const NORMALIZED = ['batch norm in windows', 'local batch norm'];
const OF_RANK = [...NORMALIZED, 'stateful layers'];
const STOPPING = ['early stopping in fit', 'early stopping in fitDataset', 'a training that was stopped'];
const NOISY = ['samples with noise', 'tf.data with noise'];
const AHEAD = [...NOISY, 'a stream with noise'].map((training) => `${training}, read ahead`);

/** The results of each rank. */
function keep(ranks: number, action: KeptArgs['action'], savedBy = ranks): Promise<Kept[]> {
  const module = new URL('./ranks/kept.ts', import.meta.url);
  const args: KeptArgs = { action, folder: join(folder, `kept ${savedBy}`) };
  return onRanks<Kept>({ module, ranks, args, env: { OMP_NUM_THREADS: '1' } });
}

describe('state that ranks hold for themselves', () => {
  const SIZES = [1, 2, 3];
  const whole: Record<number, Kept[]> = {};
  const resumed: Record<number, Kept[]> = {};
  const elsewhere: Record<number, Kept[]> = {};
  beforeAll(async () => {
    for (const ranks of SIZES) {
      whole[ranks] = await keep(ranks, 'whole');
      resumed[ranks] = await keep(ranks, 'resume');
    }
    for (const ranks of [1, 3]) elsewhere[ranks] = await keep(ranks, 'resume', 2);
  }, 600_000);

  const on = (trainings: readonly string[]) =>
    SIZES.flatMap((ranks) => trainings.map((training) => [training, ranks] as const));
  const of = (results: Kept[], training: string) => results.map((rank) => rank[training]!);

  it.each(on(OF_RANK))('%s on %i ranks: each rank continues with its own, bit for bit', (training, ranks) => {
    const expected = of(whole[ranks]!, training);
    expect(of(resumed[ranks]!, training)).toEqual(expected);
    expect(new Set(expected.map(({ at }) => JSON.stringify(at))).size).toBe(ranks);
  });

  it.each(on(STOPPING))('%s on %i ranks: callbacks continue with their counts', (training, ranks) => {
    const expected = of(whole[ranks]!, training);
    expect(of(resumed[ranks]!, training)).toEqual(expected);
    const isOver = training === 'a training that was stopped';
    for (const { at, after } of expected) {
      // Early stopping has counted the epoch of the save, also where the save comes before it in the list.
      expect([at.at(-2)![0], at.at(-1)]).toEqual([3, [4]]);
      expect(after.at(-1)![0]).toBe(isOver ? 3 : 6);
    }
  });

  it.each(on([...NOISY, ...AHEAD]))('%s on %i ranks: draws belong to their places', (training, ranks) => {
    expect(of(resumed[ranks]!, training)).toEqual(of(whole[ranks]!, training));
    const ahead = `${training}, read ahead`;
    if (NOISY.includes(training)) expect(of(whole[ranks]!, ahead)).toEqual(of(whole[ranks]!, training));
  });

  it.each(NORMALIZED)('%s: on another number of ranks, all continue with that of rank 0', (training) => {
    for (const ranks of [1, 3]) {
      for (const rank of elsewhere[ranks]!) expect(rank[training]!.at).toEqual(whole[2]![0]![training]!.at);
    }
  });

  it('stateful layers start from zeros on another number of ranks', () => {
    const { at } = whole[2]![0]!['stateful layers']!;
    for (const ranks of [1, 3]) {
      for (const rank of elsewhere[ranks]!) {
        const here = rank['stateful layers']!.at;
        expect(here.slice(0, -3)).toEqual(at.slice(0, -3));
        expect(
          here
            .slice(-3)
            .flat()
            .every((x) => x === 0),
        ).toBe(true);
        expect(
          at
            .slice(-3)
            .flat()
            .some((x) => x === 0),
        ).toBe(false);
      }
    }
  });
});
