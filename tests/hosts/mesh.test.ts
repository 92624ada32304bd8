import { beforeAll, describe, expect, it } from 'vitest';
import { TestNetwork } from '@acc/testkit';
import { AGAIN, LIMITED, MeshComparison, type Cases } from '../e2e/mesh-pairs/compare-meshes.js';
import type { Args } from '../e2e/mesh-pairs/ranks/train.js';
import type { Case, Trained } from '../e2e/mesh-pairs/train.js';
import { startRanks } from './run-on-hosts.js';

/** On one process. */
const SAME = {
  llama: { model: 'llama', options: LIMITED, save: 'llama' },
  gpt2: { model: 'gpt2' },
} satisfies Record<string, Case>;
type Name = keyof typeof SAME;

const comparison = new MeshComparison<Name>(SAME);
const onMesh = comparison.onMesh.bind(comparison);

const DATA_TENSOR = { data: 2, tensor: 2 };
const PIPELINE_DATA = { pipeline: 2, data: 2 };
const PIPELINED = { pipelined: { microBatches: 2 } };
const FSDP = { strategy: 'fsdp' } as const;
const DATA_FSDP = { data: 2, fsdp: 2 };
const CASES: Cases<Name> = {
  'data × tensor': onMesh('llama', DATA_TENSOR, { plan: 'auto', options: AGAIN, save: 'data × tensor' }),
  'pipeline × data': onMesh('llama', PIPELINE_DATA, { ...PIPELINED, save: 'pipeline × data' }),
  // Its embeddings are tied to its last layer, so the hosts of the first and last stage share a weight.
  'pipeline × data with tied embeddings': onMesh('gpt2', PIPELINE_DATA, PIPELINED),
  'data × fsdp': onMesh('llama', DATA_FSDP, { options: FSDP, save: 'data × fsdp' }),
};

/** The name says where it was saved and goes on. */
const RESUMED: Cases<Name> = {
  'one process on data × tensor': onMesh('llama', DATA_TENSOR, { plan: 'auto', load: 'llama' }),
  'data × tensor on pipeline × data': onMesh('llama', PIPELINE_DATA, { ...PIPELINED, load: 'data × tensor' }),
  'pipeline × data on data × fsdp': onMesh('llama', DATA_FSDP, { options: FSDP, load: 'pipeline × data' }),
};

let found: Record<string, Trained[]>;

/** Two ranks on each of two hosts. */
async function startOnHosts({ cases, folder }: Args): Promise<Trained[][]> {
  await using network = await TestNetwork.create({ hosts: 2 });
  const env = { ACC_COLLECTIVE_ENGINE: 'hierarchical' };
  const args = [JSON.stringify(cases), folder];
  const ranks = startRanks(network, 'mesh-pairs.ts', args, { ranksPerHost: 2, env });
  const ends = await Promise.all(ranks.map(({ ended }) => ended));
  for (const { code, output } of ends) expect(code, output).toBe(0);
  return ends.map(({ result }) => result as Trained[]);
}

beforeAll(async () => {
  await comparison.trainAlone();
  found = await comparison.trainBy({ ...CASES, ...comparison.resumed(RESUMED) }, startOnHosts);
});

describe('a mesh of two ranks on each of two hosts', () => {
  it.each(Object.keys(CASES))('%s: ranks train as one', (name) => {
    comparison.expectTrainedAsOne(CASES[name]!, found[name]!);
  });

  // Ranks 0 and 1 are on the first host.
  it.each([
    ['data × tensor', 'data', 'tensor'],
    ['pipeline × data', 'pipeline', 'data'],
    ['data × fsdp', 'data', 'fsdp'],
  ])('%s: the first axis is between hosts, the second one inside', (name, between, inside) => {
    const places = [0, 1, 2, 3].map((rank) => ({ [between]: Math.floor(rank / 2), [inside]: rank % 2 }));
    expect(found[name]!.map(({ coordinates }) => coordinates)).toEqual(places);
  });

  it.each(Object.keys(CASES))('%s: gather returns the values of all ranks', (name) => {
    expect(found[name]!.map(({ gathered }) => gathered)).toEqual(Array(4).fill([0, 1, 2, 3]));
  });
});

describe('a checkpoint', () => {
  it.each(Object.keys(RESUMED))('of %s: training goes on as without a break', (name) => {
    comparison.expectResumed(RESUMED[name]!, found[name]!);
  });

  it.each(['data × tensor', 'pipeline × data', 'data × fsdp'])(
    'of %s: training goes on in one process',
    async (load) => comparison.expectResumedAlone(load, 'llama'),
  );
});
