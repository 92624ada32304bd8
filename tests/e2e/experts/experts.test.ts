import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import { ddp } from '@acc/ddp';
import { expertParallel } from '@acc/experts';
import { onRanks } from '../on-ranks.js';
import { expectNear, rms } from '../transformer/compare.js';
import { newFolder } from '../transformer/reference.js';
import {
  CASES,
  fitted,
  HALF,
  modelOf,
  optimizerOf,
  STEPS,
  trainAlone,
  trainSteps,
  UNDIVIDED,
  weightsOf,
  type Case,
} from './model.js';
import type { Args, Report } from './ranks/train.js';

const module = new URL('./ranks/train.ts', import.meta.url);
const folder = newFolder();
const NAMES = Object.keys(CASES);
/** Two ranks share out experts; of four, two and two have the same ones. */
const JOBS: readonly Args[] = [
  { mesh: { expert: 2 }, names: NAMES, folder },
  { mesh: { data: 2, expert: 2 }, names: NAMES.slice(0, 2) },
  { mesh: { fsdp: 2, expert: 2 }, names: NAMES.slice(2) },
];
const reports: Report[][] = [];

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  await alone({}, UNDIVIDED, async (accelerator, trained) => {
    trainSteps(accelerator, trained, { steps: [0, 1, 2, 3, 4], parts: [0, 1] });
    await accelerator.saveState(join(folder, 'alone'));
  });
  for (const args of JOBS) {
    const ranks = Object.values(args.mesh).reduce((product, size) => product * size);
    const env = { OMP_NUM_THREADS: '1' };
    reports.push(await onRanks<Report>({ module, ranks, args, env, timeoutMs: 300_000 }));
  }
}, 600_000);

/** One process that has the rows of two ranks. */
async function alone<T>(
  options: AcceleratorOptions,
  given: Case,
  run: (
    accelerator: Accelerator,
    trained: { model: tf.LayersModel; optimizer: tf.Optimizer },
  ) => T | Promise<T>,
): Promise<T> {
  const accelerator = await Accelerator.create({ gradientAccumulationSteps: 2, ...options });
  const [model, optimizer] = accelerator.prepare(modelOf(given), optimizerOf());
  const result = await run(accelerator, { model, optimizer });
  await accelerator.endTraining();
  tf.disposeVariables();
  return result;
}

function expectWeights(
  actual: Readonly<Record<string, number[]>>,
  expected: Readonly<Record<string, number[]>>,
  rtol = 1e-4,
): void {
  const size = Math.max(...Object.values(expected).map(rms));
  expect(Object.keys(actual)).toEqual(Object.keys(expected));
  for (const [name, values] of Object.entries(expected)) expectNear(actual[name]!, values, rtol, size);
}

const TRAININGS = JOBS.flatMap(({ mesh, names }, job) =>
  names.map((name) => ({ name, job, mesh: JSON.stringify(mesh) })),
);

it.each(TRAININGS)(
  '$name on $mesh: trains as one process with the rows of all ranks',
  ({ name, job, mesh }) => {
    const given = CASES[name]!;
    const ofRanks = reports[job]!.map(({ cases }) => cases[name]!);
    const expected = trainAlone(given, ofRanks.length);
    for (const { losses, weights, dropped, leaked, leakedBytes, read, ...counts } of ofRanks) {
      expectNear(losses, expected.losses, 1e-4);
      expectWeights(weights, expected.weights);
      expect(dropped).toBe(expected.dropped);
      expect(dropped > 0).toBe(given.experts.capacityFactor !== undefined);
      expect(leaked).toBe(0);
      // The numbers of rows differ from step to step; allocated blocks are rounded up.
      expect(Math.abs(leakedBytes)).toBeLessThan(1024);
      const kernel = Object.keys(weights).find((weight) => weight.endsWith('experts/c_fc/kernel'))!;
      expect(read).toEqual(weights[kernel]);
      const ofExperts = Object.keys(weights).filter((weight) => weight.includes('/experts/'));
      const elements = ofExperts.reduce((sum, weight) => sum + weights[weight]!.length, 0);
      if (given.optimizer || mesh.includes('fsdp')) continue;
      expect(counts.elements - counts.stateElements).toBe(elements / 2);
    }
  },
);

it('resumes a run of one process on two ranks, and theirs in one process', async () => {
  const parts = { parts: [0, 1] };
  const [whole, weights] = await alone({}, UNDIVIDED, (accelerator, trained) => {
    const losses = trainSteps(accelerator, trained, {
      ...parts,
      steps: Array.from({ length: 15 }, (_, i) => i),
    });
    return [losses, weightsOf(accelerator, trained.model)] as const;
  });
  for (const { resumed } of reports[0]!) expectNear(resumed!.losses, whole.slice(5, 10), 1e-4);
  await alone({}, UNDIVIDED, async (accelerator, trained) => {
    await accelerator.loadState(join(folder, 'ranks'));
    expectNear(
      trainSteps(accelerator, trained, { ...parts, steps: [10, 11, 12, 13, 14] }),
      whole.slice(10),
      1e-4,
    );
    expectWeights(weightsOf(accelerator, trained.model), weights);
  });
});

it('trains in 16 bits with a loss scale as one process does', async () => {
  const options = { mixedPrecision: 'fp16', amp: { lossScale: { initial: 1024 } } } as const;
  const [losses, weights] = await alone(options, HALF, (accelerator, trained) => {
    const losses = trainSteps(accelerator, trained, {
      steps: Array.from({ length: STEPS }, (_, i) => i),
      parts: [0, 1],
    });
    return [losses, weightsOf(accelerator, trained.model)] as const;
  });
  for (const { half } of reports[0]!) {
    expectNear(half!.losses, losses, 1e-2);
    expectWeights(half!.weights, weights, 1e-2);
  }
});

it('fits, evaluates and predicts as tfjs alone, with a short last batch', async () => {
  const model = modelOf(UNDIVIDED);
  model.compile({ optimizer: optimizerOf(), loss: 'meanSquaredError' });
  const expected = await fitted(model);
  for (const { fit } of reports[0]!) {
    expectNear(fit!.losses, expected.losses, 1e-4);
    expectNear(fit!.predicted, expected.predicted, 1e-4);
  }
});

it('refuses what ranks with parts of the experts cannot do', () => {
  for (const { refusals } of reports[0]!) {
    expect(refusals).toEqual({
      uneven: 'ACC_EXPERTS_UNEVEN',
      penalty: 'ACC_CUT_VARIABLE_USED',
      compile: 'ACC_STRATEGY_CANNOT',
    });
  }
});

it.each([
  [
    'offloaded weights',
    { strategy: 'fsdp', fsdp: { cpuOffload: true }, mesh: { fsdp: 1, expert: 2 } },
    'ACC_INVALID_OPTION',
  ],
  ['single', { strategy: 'single', mesh: { expert: 2 } }, 'ACC_INVALID_OPTION'],
  ['deterministic', { deterministic: true, mesh: { expert: 2 } }, 'ACC_DETERMINISTIC_UNSUPPORTED'],
] as const)('the axis expert is refused beside %s', async (_, options, code) => {
  await expect(Accelerator.create(options)).rejects.toThrowError(expect.objectContaining({ code }));
});

it('gradients of experts cannot wait for the optimizer', () => {
  const make = () => expertParallel(ddp({ syncAt: 'apply' }));
  expect(make).toThrowError(expect.objectContaining({ code: 'ACC_STRATEGY_CANNOT' }));
});
