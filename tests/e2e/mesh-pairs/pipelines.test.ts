import { beforeAll, describe, expect, inject, it } from 'vitest';
import { onlyInRelease } from '../../only-in-release.js';
import { LLAMA_SEQUENCE, SEQUENCE } from '../tensor-parallel/plans.js';
import { LLAMA_STAGES } from './stages.js';
import { AGAIN, LIMITED, MeshComparison, TOGETHER, type Cases } from './compare-meshes.js';
import type { Case, Trained } from './train.js';

/** On one process, without stages. */
const SAME = {
  llama: { model: 'llama', options: LIMITED, save: 'llama' },
  // Its embeddings are tied to its last layer.
  gpt2: { model: 'gpt2' },
  'gpt2 in 16 bits': { model: 'gpt2', options: TOGETHER },
  experts: { model: 'experts', options: LIMITED },
} satisfies Record<string, Case>;
type Name = keyof typeof SAME;

const comparison = new MeshComparison<Name>(SAME, { pipelined: { microBatches: 2 } });
const onMesh = comparison.onMesh.bind(comparison);

const TENSOR = { tensor: 2, pipeline: 2 };
const ON_FOUR: Cases<Name> = {
  'tensor × pipeline': onMesh('llama', TENSOR, { plan: 'auto', options: AGAIN, save: 'tensor × pipeline' }),
  'tensor × pipeline along the sequence, without a bubble': onMesh('gpt2', TENSOR, {
    plan: SEQUENCE,
    pipelined: { microBatches: 4, schedule: 'zeroBubble' },
  }),
  'tensor × pipeline along the sequence, with groups of heads': onMesh('llama', TENSOR, {
    plan: LLAMA_SEQUENCE,
    options: AGAIN,
    pipelined: { microBatches: 2, schedule: 'interleaved' },
  }),
  'tensor × pipeline, one stage cut': onMesh('llama', TENSOR, {
    plan: {
      'layers.1/mlp/gate_proj': 'column',
      'layers.1/mlp/up_proj': 'column',
      'layers.1/mlp/down_proj': 'row',
    },
    pipelined: { microBatches: 2, ...LLAMA_STAGES },
  }),
  'data × pipeline, as many rows in each message': onMesh(
    'llama',
    { data: 2, pipeline: 2 },
    { pipelined: { microBatches: 1, ...LLAMA_STAGES } },
  ),
  'tensor × pipeline in 16 bits': onMesh('gpt2 in 16 bits', TENSOR, { plan: 'auto' }),
  'tensor × pipeline with experts': onMesh('experts', TENSOR, { plan: 'auto' }),
  ...onlyInRelease({
    'tensor × pipeline with interleaved stages': onMesh('llama', TENSOR, {
      plan: 'auto',
      pipelined: { microBatches: 2, schedule: 'interleaved' },
    }),
    'data × pipeline in 16 bits': onMesh('gpt2 in 16 bits', { data: 2, pipeline: 2 }),
    'data × pipeline with experts': onMesh('experts', { data: 2, pipeline: 2 }, { options: AGAIN }),
  }),
};

/** The name says where it was saved and goes on. */
const RESUMED: Cases<Name> = {
  'one process on tensor × pipeline': onMesh('llama', TENSOR, { plan: 'auto', load: 'llama' }),
  'tensor × pipeline on data × pipeline': onMesh(
    'llama',
    { data: 2, pipeline: 2 },
    { load: 'tensor × pipeline' },
  ),
};

/** on-eight.test.ts has three axes in `npm test`. */
const ON_EIGHT: Cases<Name> = onlyInRelease({
  'data × tensor × pipeline': onMesh(
    'llama',
    { data: 2, ...TENSOR },
    { plan: 'auto', options: AGAIN, save: 'eight' },
  ),
  'data × tensor × pipeline along the sequence': onMesh('gpt2', { data: 2, ...TENSOR }, { plan: SEQUENCE }),
  'data × tensor × pipeline in 16 bits': onMesh('gpt2 in 16 bits', { data: 2, ...TENSOR }, { plan: 'auto' }),
});

let onFour: Record<string, Trained[]>;
let onEight: Record<string, Trained[]>;

beforeAll(async () => {
  await comparison.trainAlone();
  onFour = await comparison.trainOn(4, { ...ON_FOUR, ...comparison.resumed(RESUMED) });
  onEight = inject('isRelease') ? await comparison.trainOn(8, ON_EIGHT) : {};
}, 900_000);

describe('a pipeline of stages that are cut', () => {
  it.each(Object.keys({ ...ON_FOUR, ...ON_EIGHT }))('%s: ranks train as one', (name) => {
    comparison.expectTrainedAsOne({ ...ON_FOUR, ...ON_EIGHT }[name]!, { ...onFour, ...onEight }[name]!);
  });
});

/** Two rows of 8 tokens, 16 numbers each. */
const MESSAGE_BYTES = 4 * 2 * 8 * 16;
/** A number of the batch, and those of the loss. */
const OTHER_BYTES = 4 * (1 + 7);

it('ranks of the axis tensor send a half of each value between stages', () => {
  const bytesIn = (name: string) =>
    onFour[name]!.map(({ sentInTraining }) => sentInTraining['pipeline']!.bytes);
  const one = Array(4).fill(MESSAGE_BYTES + OTHER_BYTES);
  expect(bytesIn('data × pipeline, as many rows in each message')).toEqual(one);
  // Each rank sends a half of two messages.
  expect(bytesIn('tensor × pipeline, one stage cut')).toEqual(one);
});

describe('a checkpoint', () => {
  it.each(Object.keys(RESUMED))('of %s: training goes on as without a break', (name) => {
    comparison.expectResumed(RESUMED[name]!, onFour[name]!);
  });

  it.each(['tensor × pipeline', ...(inject('isRelease') ? ['eight'] : [])])(
    'of %s: training goes on in one process',
    async (load) => {
      await comparison.expectResumedAlone(load, 'llama');
    },
  );
});
