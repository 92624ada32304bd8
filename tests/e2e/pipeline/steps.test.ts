import { beforeAll, describe, expect, inject, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import { SAME_KERNELS } from '../same-kernels.js';
import type { Results, Trained } from './ranks/steps.js';

const module = new URL('./ranks/steps.ts', import.meta.url);
/** Ranks, those with rows of their own, and the ways. */
type Job = readonly [ranks: number, data: number, ways: readonly string[]];
const ON_FOUR: Job = [4, 1, ['1f1b', 'interleaved', 'zeroBubble']];
const JOBS: readonly Job[] = [
  [
    2,
    1,
    [
      ...['gpipe', '1f1b', 'interleaved', 'zeroBubble', 'measured', 'tied', 'checkpointed', 'accumulated'],
      ...['bf16', 'fp16', 'weighed', 'checkpointed gpipe'],
      ...['compiled', 'compiled zeroBubble', 'compiled tied', 'compiled bf16', 'compiled interleaved'],
      ...['frozen', 'frozen zeroBubble', 'frozen at first', 'created frozen', 'compiled frozen'],
    ],
  ],
  [3, 1, ['1f1b', 'zeroBubble', 'tied', 'compiled tied', 'frozen']],
  ...(inject('isRelease') ? [ON_FOUR] : []),
  [4, 2, ['1f1b', 'interleaved', 'accumulated', 'weighed', 'compiled']],
];
/** The plain steps that compiled ones repeat. */
const PLAIN: Readonly<Record<string, string>> = {
  compiled: '1f1b',
  'compiled frozen': 'frozen',
  'compiled tied': 'tied',
  'compiled bf16': 'bf16',
  'compiled interleaved': 'interleaved',
};
/** By the number of ranks, and of those with rows of their own. */
const results = new Map<string, Results[]>();

const run = (ranks: number, data: number, only: readonly string[]) =>
  onRanks<Results>({ module, ranks, args: { data, only }, env: SAME_KERNELS });

beforeAll(async () => {
  results.set('1 1', await run(1, 1, []));
  for (const [ranks, data, ways] of JOBS) results.set(`${ranks} ${data}`, await run(ranks, data, ways));
}, 850_000);

/** 16-bit products of other numbers of rows are rounded otherwise. */
const closeFor = (way: string) => (/16$/.test(way) ? { rtol: 1e-2, atol: 1e-2 } : { rtol: 1e-4, atol: 1e-6 });
const alone = (way: string): Trained => results.get('1 1')![0]![way] ?? results.get('1 1')![0]!['1f1b']!;

describe.each(JOBS)('on %i ranks, %i with rows of their own', (ranks, data, ways) => {
  it.each(ways)('takes the steps of one process: %s', (way) => {
    const trained = results.get(`${ranks} ${data}`)!.map((each) => each[way]!);
    const expected = alone(way);
    for (const { weights } of trained) {
      expect(Object.keys(weights)).toEqual(Object.keys(expected.weights));
      for (const [name, values] of Object.entries(expected.weights)) {
        expectClose(weights[name]!, values, closeFor(way));
      }
    }
    // Every rank of a pipeline has the loss of its rows. Weighed means have other denominators.
    for (let i = 0; i < data; i++) {
      const ofLine = trained.filter((_, rank) => rank % data === i);
      for (const { losses } of ofLine) expect(losses).toEqual(ofLine[0]!.losses);
    }
    if (data > 1 && way === 'weighed') return;
    const means = expected.losses.map((_, step) => {
      const sum = trained.slice(0, data).reduce((total, { losses }) => total + losses[step]!, 0);
      return sum / data;
    });
    expectClose(means, expected.losses, closeFor(way));
  });

  it.each(ways.filter((way) => way.startsWith('compiled')))('replays its steps: %s', (way) => {
    for (const each of results.get(`${ranks} ${data}`)!) expect(each[way]!.replays).toBeGreaterThan(4);
  });

  it.each(ways.filter((way) => way in PLAIN))('replays have the bits of plain steps: %s', (way) => {
    for (const each of results.get(`${ranks} ${data}`)!) {
      const plain = each[PLAIN[way]!]!;
      expect([each[way]!.losses, each[way]!.weights]).toEqual([plain.losses, plain.weights]);
    }
  });

  it('has optimizer state of its own stages only', () => {
    const { stateElements } = alone('1f1b');
    const of = (rank: number) => results.get(`${ranks} ${data}`)![rank]!['1f1b']!.stateElements;
    const depth = ranks / data;
    // Adam also keeps its number of steps, and powers, on every rank.
    const own = Array.from({ length: depth }, (_, stage) => of(stage * data));
    const shared = (own.reduce((sum, each) => sum + each, 0) - stateElements) / (depth - 1);
    expect(shared).toBeLessThanOrEqual(3);
    for (const each of own) expect(each).toBeLessThan(stateElements * 0.7);
  });

  it.each(ways)('keeps no tensors from step to step: %s', (way) => {
    for (const each of results.get(`${ranks} ${data}`)!) {
      expect(each[way]!.leaked).toEqual([0, 0, 0]);
    }
  });
});

it.each(['zeroBubble', 'tied', 'weighed'])('one process takes the same steps in micro-batches: %s', (way) => {
  const pipelined = alone(`pipelined ${way}`);
  expectClose(pipelined.losses, alone(way).losses, closeFor(way));
  for (const [name, values] of Object.entries(alone(way).weights)) {
    expectClose(pipelined.weights[name]!, values, closeFor(way));
  }
});
