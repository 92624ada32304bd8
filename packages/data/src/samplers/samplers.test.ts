import * as tf from '@tensorflow/tfjs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blockSampler, type Sampler } from '@acc/formats';
import { DataLoader, shardLoader } from '../data-loader.js';
import type { DataPosition } from '../progress.js';
import { collect, expectNoTensorsLeft } from '../testing/collect.js';
import { curriculumSampler } from './curriculum-sampler.js';
import { difficultySchedule } from './difficulty-schedule.js';
import { growSequences } from './grow-sequences.js';
import { lengthSampler } from './length-sampler.js';
import { weightedSampler } from './weighted-sampler.js';

const numbers = (n: number) => Array.from({ length: n }, (_, i) => i);
const code = (value: string) => expect.objectContaining({ code: value });
const sorted = (values: Iterable<number>) => [...values].sort((a, b) => a - b);
const lengths = (n: number) => numbers(n).map((i) => (i * 37) % 101);

const SAMPLERS: readonly (readonly [string, (n: number) => Sampler])[] = [
  ['weighted', (n) => weightedSampler(numbers(n).map((i) => i + 1))],
  [
    'weighted, fewer',
    (n) =>
      weightedSampler(
        numbers(n).map((i) => i + 1),
        { samples: Math.ceil(n / 2), replacement: false },
      ),
  ],
  ['length', (n) => lengthSampler(lengths(n), { groupSize: 4, groupsPerBucket: 3 })],
  ['curriculum', (n) => curriculumSampler(lengths(n), { schedule: (step) => 100 + step, samplesPerStep: 6 })],
  ['block', (n) => blockSampler(blocksOf(n), { lanes: 2, mix: 2 })],
];

function blocksOf(n: number): number[] {
  return Array.from({ length: Math.ceil(n / 7) }, (_, i) => Math.min(7, n - 7 * i));
}

describe('samplers', () => {
  it('give every number of ranks the batches of one rank, also after a resume on another number', async () => {
    const cases = fc.record({
      which: fc.nat(SAMPLERS.length - 1),
      samples: fc.integer({ min: 1, max: 60 }),
      batchSize: fc.integer({ min: 1, max: 5 }),
      before: fc.constantFrom(1, 2, 3),
      after: fc.constantFrom(1, 2, 3),
      steps: fc.nat(4),
      seed: fc.nat(9),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ which, samples, batchSize, before, after, steps, seed }) => {
        const make = () =>
          new DataLoader(numbers(samples), { batchSize, sampler: SAMPLERS[which]![1](samples), seed });
        const full = make();
        await collect(full);
        const second = (await collect(full)) as number[][];
        const first = await realRows(make, { size: before, epoch: 1, steps });
        const rest = await realRows(make, { size: after, from: first.state });
        expect([...first.seen, ...rest.seen]).toEqual(second.flat());
      }),
      { numRuns: 60 },
    );
  });

  it('determine the length of the loader', async () => {
    const sampler = weightedSampler([1, 0, 2], { samples: 10 });
    const loader = new DataLoader([5, 6, 7], { batchSize: 4, sampler });
    expect(loader.length).toBe(3);
    const epoch = (await collect(loader)) as number[][];
    expect(epoch.map(({ length }) => length)).toEqual([4, 4, 2]);
    expect(new Set(epoch.flat())).toEqual(new Set([5, 7]));
  });

  it.each([
    [
      'streams',
      () => new DataLoader(() => [1], { batchSize: 1, sampler: weightedSampler([1]) }),
      'ACC_DATA_SHUFFLE',
    ],
    [
      'shuffle',
      () => new DataLoader([1], { batchSize: 1, shuffle: true, sampler: weightedSampler([1]) }),
      'ACC_INVALID_OPTION',
    ],
    ['no sampler', () => new DataLoader([1], { batchSize: 1, sampler: {} as never }), 'ACC_INVALID_OPTION'],
  ])('are refused with %s', (_, make, expected) => {
    expect(make).toThrow(code(expected));
  });

  it.each<[string, Sampler]>([
    ['too few values', lengthSampler([1, 2], { groupSize: 2 })],
    ['too many values', weightedSampler([1, 2, 3, 4])],
    ['other blocks', blockSampler([2, 2], { batchSize: 1 })],
    ['an order that is too short', { size: () => 3, order: () => new Int32Array(2) }],
    ['an unknown sample', { size: () => 3, order: () => Int32Array.of(0, 1, 3) }],
    ['nothing that is easy enough', curriculumSampler([5, 6, 7], { schedule: () => 1, samplesPerStep: 1 })],
  ])('are refused that have %s', async (_, sampler) => {
    await expect(collect(new DataLoader([1, 2, 3], { batchSize: 1, sampler }))).rejects.toThrow(
      code('ACC_DATA_SAMPLER'),
    );
  });
});

interface Part {
  readonly size: number;
  readonly epoch?: number;
  readonly from?: DataPosition;
  readonly steps?: number;
}

/** The samples, without filling, that `size` ranks receive, in the order of the job. */
async function realRows(make: () => DataLoader, { size, epoch, from, steps = Infinity }: Part) {
  const seen: number[][] = [];
  let state: DataPosition = { epoch: 1, position: 0 };
  for (let rank = 0; rank < size; rank++) {
    let counts: { realRows: readonly number[] } | undefined;
    const loader = shardLoader(make(), { rank, size, onBatch: (told) => (counts = told) });
    if (epoch !== undefined) loader.setEpoch(epoch);
    if (from) loader.setState(from);
    let step = 0;
    for await (const batch of loader) {
      if (step >= steps) break;
      const rows = [...(batch as tf.Tensor).dataSync()].slice(0, counts!.realRows[rank]);
      (seen[step * size + rank] ??= []).push(...rows);
      tf.dispose(batch as tf.Tensor);
      state = loader.getState();
      step++;
    }
  }
  return { seen: seen.flat(), state };
}

describe('weightedSampler', () => {
  it('draws in proportion to the weights', () => {
    const weights = [1, 2, 0, 5];
    const size = 80_000;
    const order = weightedSampler(weights, { samples: size }).order({ samples: 4, seed: 3, epoch: 1 });
    const counts = weights.map((_, i) => order.filter((index) => index === i).length);
    weights.forEach((weight, i) => {
      const expected = (size * weight) / 8;
      // Five standard deviations of a binomial distribution. The order is the same in each run.
      expect(Math.abs(counts[i]! - expected)).toBeLessThanOrEqual(5 * Math.sqrt(expected));
    });
  });

  it('without replacement draws the first sample in proportion, and each at most once', () => {
    const sampler = weightedSampler([1, 2, 0, 5], { replacement: false, samples: 3 });
    const firsts = numbers(4000).map((epoch) => {
      const order = sampler.order({ samples: 4, seed: 0, epoch });
      expect(sorted(order)).toEqual([0, 1, 3]);
      return order[0];
    });
    expect(Math.abs(firsts.filter((i) => i === 3).length - 2500)).toBeLessThan(5 * Math.sqrt(2500));
  });

  it('refuses numbers that are no counts, or no lengths', () => {
    expect(() => blockSampler([1.5, 8.5], { batchSize: 4 })).toThrow(code('ACC_DATA_SAMPLER'));
    expect(() => blockSampler([-1, 11], { batchSize: 4 })).toThrow(code('ACC_DATA_SAMPLER'));
    const easy = { schedule: () => 1, samplesPerStep: 1 };
    expect(() => curriculumSampler([1, NaN], easy)).toThrow(code('ACC_DATA_SAMPLER'));
    expect(() => lengthSampler([1, NaN], { groupSize: 4 })).toThrow(code('ACC_DATA_SAMPLER'));
  });

  it.each([[[]], [[0, 0]], [[1, -1]], [[1, NaN]], [[Infinity]]])('refuses the weights %j', (weights) => {
    expect(() => weightedSampler(weights)).toThrow(code('ACC_DATA_SAMPLER'));
  });

  it('refuses more draws than there are samples, without replacement', () => {
    expect(() => weightedSampler([1, 0], { replacement: false })).toThrow(code('ACC_DATA_SAMPLER'));
  });
});

describe('lengthSampler', () => {
  it('has every sample once, and lengths that are alike in each group', () => {
    const own = lengths(1000);
    const sampler = lengthSampler(own, { groupSize: 8, groupsPerBucket: 25 });
    const [order, next] = [0, 1].map((epoch) => sampler.order({ samples: 1000, seed: 1, epoch }));
    expect(sorted(order!)).toEqual(numbers(1000));
    expect(next).not.toEqual(order);
    const spreads = numbers(125).map((group) => {
      const ofGroup = [...order!.subarray(group * 8, group * 8 + 8)].map((i) => own[i]!);
      return Math.max(...ofGroup) - Math.min(...ofGroup);
    });
    // 200 samples of 101 lengths in 25 groups: a group spans about 4 lengths; at random it is 80.
    expect(Math.max(...spreads)).toBeLessThan(12);
    const firsts = numbers(125).map((group) => own[order![group * 8]!]!);
    expect(firsts).not.toEqual(sorted(firsts));
  });
});

describe('difficultySchedule', () => {
  it('has the values of the schedules of DeepSpeed', () => {
    const linear = difficultySchedule({ kind: 'linear', from: 8, to: 64, totalSteps: 10, multipleOf: 8 });
    // floor(8 + 56 · k / 10) without its remainder by 8.
    expect(numbers(12).map(linear)).toEqual([8, 8, 16, 24, 24, 32, 40, 40, 48, 56, 64, 64]);
    const root = difficultySchedule({ kind: 'root', from: 0, to: 100, totalSteps: 100 });
    expect([0, 1, 4, 25, 100, 101].map(root)).toEqual([0, 10, 20, 50, 100, 100]);
    const discrete = difficultySchedule({ kind: 'discrete', difficulties: [1, 2, 3], untilSteps: [5, 10] });
    expect([0, 5, 6, 10, 11].map(discrete)).toEqual([1, 1, 2, 2, 3]);
  });

  it.each([
    [{ kind: 'linear', from: 5, to: 1, totalSteps: 2 }],
    [{ kind: 'linear', from: 1, to: 2, totalSteps: 2, rootDegree: 2 }],
    [{ kind: 'discrete', difficulties: [1, 2], untilSteps: [] }],
    [{ kind: 'discrete', difficulties: [1, 2, 3], untilSteps: [4, 4] }],
  ])('refuses %j', (options) => {
    expect(() => difficultySchedule(options as never)).toThrow(code('ACC_INVALID_OPTION'));
  });
});

describe('curriculumSampler', () => {
  it('draws only what the step admits, each once before any is drawn again', () => {
    const own = numbers(40);
    const schedule = difficultySchedule({ kind: 'linear', from: 9, to: 39, totalSteps: 10 });
    const sampler = curriculumSampler(own, { schedule, samplesPerStep: 4 });
    const order = sampler.order({ samples: 40, seed: 2, epoch: 0 });
    order.forEach((index, place) => expect(index).toBeLessThanOrEqual(schedule(Math.floor(place / 4))));
    const early = order.subarray(0, 10);
    expect(new Set(early).size).toBe(10);
    // The schedule has ended: the second epoch is a permutation.
    expect(sorted(sampler.order({ samples: 40, seed: 2, epoch: 1 }))).toEqual(own);
  });

  it('repeats the samples that are admitted, and counts percentiles', () => {
    const sampler = curriculumSampler([9, 3, 5, 7], {
      schedule: () => 50,
      samplesPerStep: 2,
      by: 'percentile',
    });
    const order = [...sampler.order({ samples: 4, seed: 0, epoch: 0 })];
    expect(sorted(order.slice(0, 2))).toEqual([1, 2]);
    expect(sorted(order.slice(2))).toEqual([1, 2]);
  });
});

describe('blockSampler', () => {
  it('gives each rank blocks of its own if the number of ranks divides the lanes', () => {
    const blocks = [12, 12, 12, 12, 12, 12, 12, 12];
    const sampler = blockSampler(blocks, { batchSize: 3, lanes: 4 });
    const order = sampler.order({ samples: 96, seed: 4, epoch: 0 });
    expect(sorted(order)).toEqual(numbers(96));
    for (const ranks of [1, 2, 4]) {
      const read = numbers(ranks).map((rank) => {
        const own = numbers(32).filter((batch) => batch % ranks === rank);
        return own.flatMap((batch) =>
          [...order.subarray(batch * 3, batch * 3 + 3)].map((i) => Math.floor(i / 12)),
        );
      });
      const sets = read.map((list) => new Set(list));
      expect(sets.reduce((sum, { size }) => sum + size, 0)).toBe(8);
      // Each block is read from its first to its last sample, without another one between.
      const changes = read.map(
        (list) => list.filter((block, i) => ranks === 4 && i > 0 && block !== list[i - 1]).length,
      );
      if (ranks === 4) expect(changes).toEqual([1, 1, 1, 1]);
    }
  });

  it('has the same batches on any number of ranks with splitBatches, if lanes divide them', async () => {
    const sampler = blockSampler(new Array<number>(8).fill(6), { batchSize: 12 / 4, lanes: 4 });
    const readBy = async (size: number) => {
      const make = () => new DataLoader(numbers(48), { batchSize: 12, sampler });
      const shares = numbers(size).map((rank) =>
        collect(shardLoader(make(), { rank, size, splitBatches: true })),
      );
      return (await Promise.all(shares)) as number[][][];
    };
    const [alone] = await readBy(1);
    expect(sorted(alone!.flat())).toEqual(numbers(48));
    for (const size of [2, 4]) {
      const shares = await readBy(size);
      const steps = alone!.map((_, step) => shares.flatMap((share) => share[step]!));
      expect(steps).toEqual(alone);
      // No two ranks read the same block.
      const blocks = shares.map((share) => new Set(share.flat().map((i) => Math.floor(i / 6))));
      expect(blocks.reduce((sum, { size: count }) => sum + count, 0)).toBe(8);
    }
  });

  it('is refused where a checkpoint has another order', async () => {
    const loader = (ranks: number) =>
      shardLoader(
        new DataLoader(numbers(48), {
          batchSize: 12,
          sampler: blockSampler(new Array<number>(8).fill(6), { batchSize: 12 / ranks, lanes: 4 }),
        }),
        { rank: 0, size: ranks, splitBatches: true },
      );
    const interrupted = loader(4);
    const batches = interrupted[Symbol.asyncIterator]();
    await batches.next();
    const state = interrupted.getState();
    expect(state).toMatchObject({ epoch: 0, position: 12 });
    const [same, other, next] = [loader(4), loader(2), loader(2)];
    for (const each of [same, other, next]) each.setState(state);
    expect(await collect(same)).toHaveLength(3);
    await expect(collect(other)).rejects.toThrow(code('ACC_DATA_ORDER'));
    next.setEpoch(1);
    expect(await collect(next)).toHaveLength(4);
  });

  it('takes batchSize from the loader, and refuses another one', async () => {
    const make = (options: object, batchSize = 2) =>
      new DataLoader(numbers(8), { batchSize, sampler: blockSampler([4, 4], { ...options, lanes: 2 }) });
    const epoch = await collect(make({}));
    expect(await collect(make({ batchSize: 2 }))).toEqual(epoch);
    expect(epoch.map((batch) => new Set((batch as number[]).map((i) => i < 4)).size)).toEqual([1, 1, 1, 1]);
    await expect(collect(make({ batchSize: 4 }))).rejects.toThrow(code('ACC_DATA_SAMPLER'));
    // Of a batch of 4 samples of all ranks, each of two ranks gets 2.
    const split = (options: object) =>
      collect(shardLoader(make(options, 4), { rank: 0, size: 2, splitBatches: true }));
    await expect(split({})).rejects.toThrow(code('ACC_DATA_SAMPLER'));
    expect(await split({ batchSize: 2 })).toEqual([epoch[0], epoch[2]]);
  });

  it('keeps the order of the data without shuffle, and has every sample once with uneven blocks', () => {
    expect([
      ...blockSampler([2, 3], { batchSize: 2, shuffle: false }).order({ samples: 5, seed: 0, epoch: 0 }),
    ]).toEqual(numbers(5));
    const order = blockSampler([1, 9, 4, 2, 17], { batchSize: 4, lanes: 3, mix: 2 }).order({
      samples: 33,
      seed: 0,
      epoch: 0,
    });
    expect(sorted(order)).toEqual(numbers(33));
  });
});

describe('growSequences', () => {
  const schedule = difficultySchedule({ kind: 'linear', from: 2, to: 6, totalSteps: 4 });
  const tokens = () => tf.range(0, 8 * 6).reshape([8, 6]);

  it('cuts the sequences of each step, over epochs and on any number of ranks, without a leak', async () => {
    const data = { tokens: tokens(), label: tf.range(0, 8) };
    const options = {
      batchSize: 2,
      transform: growSequences({ schedule, samplesPerStep: 4, keys: ['tokens'] }),
    };
    await expectNoTensorsLeft(async () => {
      const loader = new DataLoader(data, options);
      const epochs = [await collect(loader), await collect(loader), await collect(loader)].map((epoch) =>
        (epoch as { tokens: number[][]; label: number[] }[]).map((batch) => {
          batch.tokens.forEach((row, i) => {
            expect(row).toEqual(numbers(row.length).map((at) => batch.label[i]! * 6 + at));
          });
          return batch.tokens[0]!.length;
        }),
      );
      expect(epochs).toEqual([
        [2, 2, 3, 3],
        [4, 4, 5, 5],
        [6, 6, 6, 6],
      ]);
      const part = shardLoader(new DataLoader(data, options), { rank: 1, size: 2 });
      const own = (await collect(part)) as { tokens: number[][] }[];
      expect(own.map((batch) => batch.tokens[0]!.length)).toEqual([2, 3]);
    });
    tf.dispose(data);
  });

  it.each([
    [{ keys: ['words'] }, 'no such key'],
    [{}, 'labels are no sequences'],
    [{ keys: ['tokens'], schedule: () => 0.5 }, 'a length that is no integer'],
  ])('refuses %j: %s', async (changed, _) => {
    const data = { tokens: tokens(), label: tf.range(0, 8) };
    await expectNoTensorsLeft(async () => {
      const transform = growSequences({ schedule, samplesPerStep: 4, ...changed });
      const loader = new DataLoader(data, { batchSize: 2, transform });
      await expect(collect(loader)).rejects.toThrow(code('ACC_DATA_SAMPLER'));
    });
    tf.dispose(data);
  });
});
