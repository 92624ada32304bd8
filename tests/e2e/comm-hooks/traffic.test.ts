// Tests the tensors that hooks pass to collectives, and that hooks continue from their state.
// values.test.ts tests the numbers.
import { beforeAll, describe, expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import { newFolder } from '../transformer/reference.js';
import type { Resumed } from './ranks/resumed.js';

interface Run {
  weights: number[][];
  stepBytes: number[];
  leaked: number;
}
interface Result {
  runs: Record<string, Run>;
  rounded: number[];
}

const WARMUP = 3;
/** The weights and biases of a layer with 24 inputs and 32 units, and of a layer with 3 units. */
const SIZES = [24 * 32, 32, 32 * 3, 3];
const ELEMENTS = SIZES.reduce((sum, size) => sum + size, 0);
/** One number for each variable states whether a rank used it. */
const FLAGS = 4 * SIZES.length;

let ranks: Record<string, Result>[];

beforeAll(async () => {
  const module = new URL('./ranks/traffic.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  ranks = await onRanks<Record<string, Result>>({ module, ranks: 2, env });
});

describe.each(['acc', 'cpu'])('communication hooks on %s', (backend) => {
  const run = (name: string) => ranks[0]![backend]!.runs[name]!;

  it('give every rank the same bits and leave no tensor behind', () => {
    for (const [name, { weights, leaked }] of Object.entries(ranks[0]![backend]!.runs)) {
      expect(ranks[1]![backend]!.runs[name]!.weights, name).toEqual(weights);
      expect(leaked, name).toBe(0);
    }
  });

  it('own is the plain sum', () => {
    expect(run('own').weights).toEqual(run('plain').weights);
  });

  it('send few bytes', () => {
    const bytes = (name: string) => run(name).stepBytes;
    const whole = 4 * ELEMENTS + FLAGS;
    const halfAsMany = 2 * ELEMENTS + FLAGS;
    // The first layer's matrix is sent as two matrices of rank 2. All else is sent whole, because
    // the second layer's matrix is too small to compress.
    const lowRank = 4 * (2 * (24 + 32) + 32 + 32 * 3 + 3) + FLAGS;
    const topTenth = 8 * Math.ceil(0.1 * ELEMENTS) + FLAGS;
    const bits = 4 * Math.ceil(ELEMENTS / 32) + 4 * SIZES.length + FLAGS;
    expect(bytes('plain')).toEqual(bytes('plain').map(() => whole));
    expect(bytes('bf16')).toEqual(bytes('bf16').map(() => halfAsMany));
    expect(bytes('fp16')).toEqual(bytes('fp16').map(() => halfAsMany));
    expect(bytes('powerSgd')).toEqual(bytes('powerSgd').map((_, i) => (i < WARMUP ? whole : lowRank)));
    expect(bytes('topK')).toEqual(bytes('topK').map(() => topTenth));
    expect(bytes('oneBit')).toEqual(bytes('oneBit').map((_, i) => (i < WARMUP ? whole : bits)));
  });

  it('add in the dtype that is sent', () => {
    expect(ranks[0]![backend]!.rounded).toEqual([2, 2.001953125]);
  });

  it.each(['powerSgd', 'topK', 'oneBit'])('%s continues from its state', (name) => {
    expect(run(`${name} resumed`).weights).toEqual(run(name).weights);
    expect(run(name).weights).not.toEqual(run('plain').weights);
  });
});

describe('on data × tensor, a checkpoint has the state of a hook for the pieces of each rank', () => {
  const names = ['powerSgd', 'topK', 'oneBit'];
  let all: Resumed[];
  let ofRanks: Resumed['hooks'][];

  beforeAll(async () => {
    const module = new URL('./ranks/resumed.ts', import.meta.url);
    const env = { OMP_NUM_THREADS: '1' };
    all = await onRanks({ module, ranks: 4, args: newFolder(), env });
    ofRanks = all.map(({ hooks }) => hooks);
  });

  it.each(names)('%s: training goes on, bit for bit', (name) => {
    for (const { [name]: found } of ofRanks) {
      const { without, resumed, warnings } = found!;
      expect(without).toEqual(ofRanks[0]![name]!.without);
      expect(resumed).toEqual(without);
      expect(warnings['same']).toEqual([]);
    }
  });

  it.each(names)('%s: on a mesh with another axis tensor, the hook begins anew and says so', (name) => {
    const [first, ...others] = ofRanks.map((each) => each[name]!.warnings);
    expect(first!['from data']).toEqual([expect.stringContaining('another axis tensor')]);
    expect(first!['on data']).toEqual([expect.stringContaining(`hook ${name} for whole weights`)]);
    for (const each of others) expect(each).toEqual({ same: [], 'on data': [], 'from data': [] });
  });

  it('for weights that are cut otherwise, the hook begins anew and says so', () => {
    const [first, ...others] = all.map(({ otherPlan }) => otherPlan);
    expect(first).toEqual([expect.stringContaining('another plan')]);
    for (const each of others) expect(each).toEqual([]);
  });

  it('weights that are not cut are the same on all ranks, also with a hook without state', () => {
    for (const { byMean } of all) expect(byMean).toEqual(all[0]!.byMean);
  });
});
