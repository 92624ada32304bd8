import { beforeAll, expect, it } from 'vitest';
import { buildMpi } from '@acc/native';
import { AGAIN, LIMITED, MeshComparison, TOGETHER, type Cases } from '../e2e/mesh-pairs/compare-meshes.js';
import type { Args } from '../e2e/mesh-pairs/ranks/train.js';
import type { Case, Trained } from '../e2e/mesh-pairs/train.js';
import { mpirun } from './mpirun.js';

/** On one process. */
const SAME = {
  llama: { model: 'llama', options: LIMITED },
  'gpt2 in 16 bits': { model: 'gpt2', options: TOGETHER },
} satisfies Record<string, Case>;
type Name = keyof typeof SAME;

const comparison = new MeshComparison<Name>(SAME);
const onMesh = comparison.onMesh.bind(comparison);

const DATA_TENSOR = { data: 2, tensor: 2 };
const DATA_PIPELINE = { data: 2, pipeline: 2 };
const PIPELINED = { pipelined: { microBatches: 2 } };
const CASES: Cases<Name> = {
  'data × tensor': onMesh('llama', DATA_TENSOR, { plan: 'auto', options: AGAIN, save: 'data × tensor' }),
  'data × pipeline in 16 bits': onMesh('gpt2 in 16 bits', DATA_PIPELINE, PIPELINED),
};
const RESUMED: Cases<Name> = {
  'data × tensor on data × pipeline': onMesh('llama', DATA_PIPELINE, { ...PIPELINED, load: 'data × tensor' }),
};

let found: Record<string, Trained[]>;

async function startByMpi({ cases, folder }: Args): Promise<Trained[][]> {
  const script = new URL('./ranks/mesh-pairs.ts', import.meta.url);
  const args = [JSON.stringify(cases), folder];
  const env = { ACC_COLLECTIVE_ENGINE: 'mpi' };
  const { code, output, results } = await mpirun(script, { ranks: 4, args, env });
  expect(code, output).toBe(0);
  expect(results).toHaveLength(4);
  return results as Trained[][];
}

beforeAll(async () => {
  buildMpi();
  await comparison.trainAlone();
  found = await comparison.trainBy({ ...CASES, ...RESUMED }, startByMpi);
});

it.each(Object.keys(CASES))('%s by mpirun: ranks train as one', (name) => {
  comparison.expectTrainedAsOne(CASES[name]!, found[name]!);
});

it.each(Object.keys(RESUMED))('a checkpoint of %s: training goes on as without a break', (name) => {
  comparison.expectSecondHalf(RESUMED[name]!, found[name]!);
});

it('a checkpoint of ranks of mpirun goes on in one process', async () => {
  await comparison.expectResumedAlone('data × tensor', 'llama');
});
