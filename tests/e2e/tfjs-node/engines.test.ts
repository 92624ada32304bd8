import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';
import { trainPlainly } from '../ranks/small-program.js';
import { newProject, type Project } from './project.js';
import type { Refused, Results, Trained } from './ranks/train.js';

let project: Project;

interface Run {
  readonly results: Results;
  readonly stderr: string;
  readonly folder: string;
}

/** Starts one program on the ranks of one engine. All ranks must report the same weights. */
async function start(engine: string, ranks: number, earlier?: Run): Promise<Run> {
  const folder = join(project.path, `${engine}-${ranks}`);
  mkdirSync(folder);
  const ended = await runRanks<Results>({
    script: join(project.path, 'tfjs-node', 'ranks', 'train.ts'),
    ranks,
    args: [engine, folder, ...(earlier ? [earlier.folder] : [])],
    cwd: project.path,
    env: {
      OMP_NUM_THREADS: '1',
      TF_NUM_INTRAOP_THREADS: '1',
      TF_NUM_INTEROP_THREADS: '1',
      TF_CPP_MIN_LOG_LEVEL: '2',
    },
  });
  for (const { exitCode, stderr } of ended) expect(exitCode, stderr).toBe(0);
  const [first, ...others] = ended.map(({ result }) => weightsIn(result!));
  for (const other of others) expect(other).toEqual(first);
  return { results: ended[0]!.result!, stderr: ended[0]!.stderr, folder };
}

const isTrained = (result: Trained | Refused): result is Trained => 'weights' in result;
const weightsIn = (results: Results) =>
  Object.entries(results).flatMap(([name, result]) => (isTrained(result) ? [[name, result.weights]] : []));

function trained(run: Run, name: string): Trained {
  const result = run.results[name]!;
  if (!isTrained(result)) throw new Error(`${name}: ${result.code}: ${result.message}`);
  return result;
}

function expectWeights(found: number[][], expected: number[][], tolerance = 1e-4): void {
  expect(found.length).toBe(expected.length);
  found.forEach((values, i) => expectClose(values, expected[i]!, { rtol: tolerance, atol: tolerance }));
}

let acc: Run;
let runs: Record<string, Run>;

beforeAll(async () => {
  await tf.setBackend('cpu');
  project = await newProject();
  await project.setup();
  project.copy('train.ts');
  const two = await start('tensorflow', 2);
  // Each engine continues what the other saved, on another number of ranks.
  acc = await start('acc', 3, two);
  runs = {
    'tensorflow 1': await start('tensorflow', 1, acc),
    'tensorflow 2': two,
    'tensorflow 3': await start('tensorflow', 3, acc),
    'wasm 2': await start('wasm', 2, acc),
  };
}, 400_000);
afterAll(() => project[Symbol.dispose]());

const NAMES = ['tensorflow 1', 'tensorflow 2', 'tensorflow 3', 'wasm 2'];
/** Cases whose numbers equal those of plain tfjs in one process. */
const PLAIN = {
  ddp: {},
  clipped: { norm: 0.3 },
  window: { window: 2 },
  'stage 1': {},
  'stage 2': {},
  'stage 3': {},
};
/** Cases whose numbers equal those of acc, within the tolerance. Products of bf16 have 8 bits. */
const SAME = {
  ddp: 1e-4,
  clipped: 1e-4,
  window: 1e-4,
  fit: 1e-4,
  whole: 1e-4,
  tracked: 1e-4,
  convolution: 1e-4,
  bf16: 5e-3,
};

/**
 * Cases that tfjs's wasm backend cannot train, with the code of the refusal: it has no gradient of
 * a convolution with respect to its filter. On tensorflow everything must train.
 */
const REFUSED_ON_WASM: Readonly<Record<string, string>> = {
  'stage 1': 'ACC_STRATEGY_CANNOT',
  'stage 2': 'ACC_STRATEGY_CANNOT',
  'stage 3': 'ACC_STRATEGY_CANNOT',
  bf16: 'ACC_PRECISION_UNSUPPORTED',
  convolution: 'ACC_KERNEL_MISSING',
};
const refusedBy = (name: string) => (name.startsWith('wasm') ? REFUSED_ON_WASM : {});
/** The cases that must train on an engine. */
const trainable = <T>(cases: Readonly<Record<string, T>>, name: string): [string, T][] =>
  Object.entries(cases).filter(([kind]) => !(kind in refusedBy(name)));

describe.each(NAMES)('on %s', (name) => {
  const [engine = ''] = name.split(' ');
  const run = () => runs[name]!;

  it('the backend of the program stays, and a line says why and how to change it', () => {
    for (const result of Object.values(run().results)) {
      if (isTrained(result)) expect(result.backendName).toBe(engine);
    }
    const how = engine === 'tensorflow' ? 'imports tfjs-node' : 'set it';
    expect(run().stderr.match(/the tfjs backend/g)).toHaveLength(1);
    expect(run().stderr).toContain(`'${engine}', because the program ${how}`);
    expect(run().stderr).toContain("engine: 'acc'");
  });

  it.each(trainable(PLAIN, name))('%s gives the weights of one process in plain tfjs', (kind, options) => {
    expectWeights(trained(run(), kind).weights, trainPlainly({ batches: 4, ...options }));
  });

  it.each(trainable(SAME, name))('%s gives what acc gives', (kind, tolerance) => {
    const { weights, losses } = trained(run(), kind);
    const expected = trained(acc, kind);
    expectWeights(weights, expected.weights, tolerance);
    if (losses) expectClose(losses, expected.losses!, { rtol: tolerance, atol: 1e-5 });
  });

  it('a checkpoint in mid-epoch is resumed with the remaining batches', () => {
    expectWeights(trained(run(), 'resumed').weights, trained(run(), 'whole').weights, 1e-6);
    expect(trained(run(), 'stopped').weights).not.toEqual(trained(run(), 'whole').weights);
  });

  it('no tensor is left behind', () => {
    const left = Object.entries(run().results).filter(
      ([, result]) => isTrained(result) && result.leaked !== 0,
    );
    expect(left).toEqual([]);
  });

  it('what the engine cannot do is refused with a code, and nothing else is', () => {
    const refused = Object.entries(run().results).flatMap(([kind, result]) =>
      isTrained(result) ? [] : [[kind, result.code]],
    );
    expect(Object.fromEntries(refused)).toEqual(refusedBy(name));
  });

  it('trackers record the losses', () => {
    const { losses } = trained(run(), 'tracked');
    const runsFolder = join(run().folder, 'runs');
    const files = readdirSync(runsFolder, { recursive: true, encoding: 'utf8' });
    const textOf = (pattern: RegExp) =>
      readFileSync(
        join(
          runsFolder,
          files.find((file) => pattern.test(file))!,
        ),
        'utf8',
      );
    const logged = textOf(/\.jsonl$/)
      .trim()
      .split('\n')
      .flatMap((line) => /"loss":([\d.e-]+)/.exec(line)?.[1] ?? [])
      .map(Number);
    expectClose(logged, losses!, { rtol: 1e-6 });
    expect(textOf(/metrics\.csv$/)).toContain('loss');
    expect(files.some((file) => /tfevents/.test(file))).toBe(true);
  });
});

describe('a checkpoint of one engine, continued on the other and on another number of ranks', () => {
  it('from two ranks on tensorflow to three on acc', () => {
    expectWeights(trained(acc, 'continued').weights, trained(runs['tensorflow 2']!, 'whole').weights);
  });

  it.each(['tensorflow 1', 'tensorflow 3', 'wasm 2'])('from three ranks on acc to %s', (name) => {
    expectWeights(trained(runs[name]!, 'continued').weights, trained(acc, 'whole').weights);
  });
});
