import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { TestNetwork } from '@acc/testkit';
import { expectSame } from '../e2e/mesh-pairs/compare-meshes.js';
import { train, type Case, type Trained } from '../e2e/mesh-pairs/train.js';
import { newFolder } from '../e2e/transformer/reference.js';
import type { OfCase, OfRank } from './ranks/mesh.js';
import { startRanks } from './run-on-hosts.js';

const STEPS = 10;
const SAVED = 4;
const ALONE: Case = { model: 'gpt2', stopAfter: STEPS };
const CASES = {
  'data × tensor': {
    ...ALONE,
    mesh: { data: 2, tensor: 2 },
    plan: 'auto',
    save: 'data × tensor',
    saveAfter: SAVED,
  },
  'pipeline × data': { ...ALONE, mesh: { pipeline: 2, data: -1 }, pipelined: { microBatches: 2 } },
  'data × fsdp, from the checkpoint of data × tensor': {
    ...ALONE,
    mesh: { data: 2, fsdp: 2 },
    options: { strategy: 'fsdp' },
    load: 'data × tensor',
    stopAfter: STEPS - SAVED,
  },
  'tensor over both hosts': { ...ALONE, mesh: { tensor: 4 }, plan: 'auto' },
} satisfies Record<string, Case>;
type Name = keyof typeof CASES;

const MISTAKES = [
  { data: 2, tensor: 3 },
  { data: -1, tensor: 3 },
  { data: -1, tensor: -1 },
  [{ data: 2, tensor: 2 }, { data: 4 }],
];

let alone: Trained;
let ranks: OfRank[];

/** Two ranks on each of two hosts. */
async function onHosts(): Promise<OfRank[]> {
  await using network = await TestNetwork.create({ hosts: 2 });
  const args = [JSON.stringify(MISTAKES), JSON.stringify(Object.values(CASES)), newFolder()];
  const ends = await Promise.all(
    startRanks(network, 'mesh.ts', args, { ranksPerHost: 2 }).map(({ ended }) => ended),
  );
  return ends.map(({ code, output, result }) => {
    expect(code, output).toBe(0);
    return result as OfRank;
  });
}

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  alone = await train(ALONE, '');
  ranks = await onHosts();
});

const found = (name: Name): OfCase[] => ranks.map(({ cases }) => cases[Object.keys(CASES).indexOf(name)]!);

describe('two ranks on each of two hosts', () => {
  it.each(Object.keys(CASES) as Name[])('%s: train as one process', (name) => {
    for (const { trained, gathered } of found(name)) {
      expect(trained.losses).toHaveLength('load' in CASES[name] ? STEPS - SAVED : STEPS);
      expectSame(trained, alone, 1e-4);
      expect(gathered).toEqual([0, 1, 2, 3]);
    }
    expect(alone.losses.at(-1)).toBeLessThan(alone.losses[0]!);
  });

  it.each([
    ['data × tensor', 'tensor'],
    ['pipeline × data', 'data'],
    ['data × fsdp, from the checkpoint of data × tensor', 'fsdp'],
  ] as const)('%s: the ranks of a host differ along %s', (name, axis) => {
    const places = found(name).map(({ local, coordinates }) => [local, coordinates[axis]]);
    expect(places).toEqual([
      [0, 0],
      [1, 1],
      [0, 0],
      [1, 1],
    ]);
  });

  it('are warned on the main process of an axis whose exchanges go between hosts', () => {
    const [main, ...others] = found('tensor over both hosts').map(({ warnings }) => warnings);
    expect(main).toHaveLength(1);
    for (const part of [
      /mesh axis tensor/,
      /ranks 0, 1, 2, 3 on host0, host1\./,
      /mesh: \{ data: 2, tensor: 2 \}/,
    ]) {
      expect(main![0]).toMatch(part);
    }
    expect(others).toEqual([[], [], []]);
    for (const { warnings } of found('data × tensor')) expect(warnings).toEqual([]);
    for (const { warnings } of found('pipeline × data')) expect(warnings).toEqual([]);
  });

  it.each([
    [0, 'ACC_INVALID_OPTION', ['data: 2, tensor: 3', 'does not fit 4 ranks', 'product is 4']],
    [1, 'ACC_INVALID_OPTION', ['data: -1, tensor: 3', 'does not fit 4 ranks']],
    [2, 'ACC_INVALID_OPTION', ['data: -1, tensor: -1', 'several sizes of -1']],
    [3, 'ACC_OPTIONS_DIFFER', ['mesh', 'rank 0', 'rank 2', '"tensor":2', '"data":4']],
  ] as const)('mistake %i is told on every rank', (mistake, code, parts) => {
    for (const { faults } of ranks) {
      const fault = faults[mistake]!;
      expect(fault.code, fault.message).toBe(code);
      for (const part of parts) expect(fault.message).toContain(part);
    }
  });
});
