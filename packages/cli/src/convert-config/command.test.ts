import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfigFile } from '@acc/config';
import { PARALLEL } from '../../fixtures/parallel-configs.js';
import { fixture, runAcc } from '../../fixtures/run-acc.js';
import { convertConfig } from './convert.js';
import { leavesOf } from './draft.js';
import { MISSING } from './missing.js';
import { accelerator } from './outcome.js';

/**
 * The YAML files and `basic.json` were written by Accelerate 1.15.0, from answers to `accelerate
 * config` and by `write_basic_config`. DeepSpeed 0.19.8 accepts `deepspeed.json`.
 */
const FOLDER = fixture('foreign-configs');

interface Row {
  readonly key: string;
  readonly value: unknown;
  readonly options?: Record<string, unknown>;
  readonly note?: string;
}
type Report = { readonly format: string } & Record<'taken' | 'changed' | 'leftOut', readonly Row[]>;

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'acc-convert-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const convert = (...args: readonly string[]) => runAcc(['convert-config', ...args], { cwd: folder });

/** Converts a file, and reads what was written. */
async function converted(path: string): Promise<{ report: Report; options: Record<string, unknown> }> {
  const output = join(folder, 'written.yaml');
  const run = await convert(path, '--json', '--force', '--output', output);
  expect(run).toMatchObject({ code: 0, stderr: '' });
  const { launch, accelerator } = await loadConfigFile(output);
  const named = (section: string, values: typeof launch) =>
    Array.from(values, ([name, { value }]) => [`${section}.${name}`, value] as const);
  const options = Object.fromEntries([...named('launch', launch), ...named('accelerator', accelerator)]);
  return { report: JSON.parse(run.stdout) as Report, options };
}

const EXPECTED: Readonly<Record<string, Record<string, unknown>>> = {
  'basic.json': {
    'launch.nproc': 1,
    'launch.nnodes': 1,
    'accelerator.mixedPrecision': 'bf16',
    'accelerator.device': 'cpu',
  },
  'multi-cpu.yaml': {
    'launch.nproc': 4,
    'launch.nnodes': 1,
    'accelerator.strategy': 'ddp',
    'accelerator.mixedPrecision': 'no',
    'accelerator.device': 'cpu',
  },
  'multi-gpu.yaml': {
    'launch.nproc': 4,
    'launch.nnodes': 2,
    'launch.rdzvEndpoint': '10.0.0.1:29501',
    'launch.rdzvBackend': 'c10d',
    'accelerator.strategy': 'ddp',
    'accelerator.mixedPrecision': 'bf16',
  },
  'fsdp1.yaml': {
    'launch.nproc': 2,
    'launch.nnodes': 1,
    'accelerator.strategy': 'fsdp',
    'accelerator.mixedPrecision': 'fp16',
    'accelerator.checkpointEvery': 1,
    'accelerator.fsdp.stage': 'FULL_SHARD',
    'accelerator.fsdp.backwardPrefetch': 'post',
    'accelerator.fsdp.cpuOffload': true,
  },
  'fsdp2.yaml': {
    'launch.nproc': 2,
    'launch.nnodes': 1,
    'accelerator.strategy': 'fsdp',
    'accelerator.mixedPrecision': 'bf16',
    'accelerator.mesh.data': 1,
    'accelerator.mesh.fsdp': 2,
    'accelerator.fsdp.reshardAfterForward': false,
  },
  'fp8.yaml': {
    'launch.nproc': 2,
    'launch.nnodes': 1,
    'accelerator.strategy': 'ddp',
    'accelerator.device': 'cpu',
    'accelerator.mixedPrecision': 'fp8',
    'accelerator.amp.fp8.recipe': 'tensorwise',
    'accelerator.amp.fp8.scaling': 'delayed',
    'accelerator.amp.fp8.amaxHistory': 1024,
    'accelerator.amp.fp8.gradients': 'e4m3',
  },
  'deepspeed.yaml': {
    'launch.nproc': 8,
    'launch.nnodes': 1,
    'accelerator.strategy': 'fsdp',
    'accelerator.mixedPrecision': 'bf16',
    'accelerator.gradientAccumulationSteps': 4,
    'accelerator.gradientClipping.norm': 1,
    'accelerator.fsdp.stage': 3,
    'accelerator.fsdp.cpuOffload': true,
  },
  'deepspeed.json': {
    'accelerator.strategy': 'fsdp',
    'accelerator.mixedPrecision': 'fp16',
    'accelerator.gradientAccumulationSteps': 4,
    'accelerator.gradientClipping.norm': 1,
    'accelerator.logWith': ['tensorboard', 'csv', 'comet'],
    'accelerator.fsdp.stage': 2,
    'accelerator.fsdp.bucketBytes': 20_000_000,
    'accelerator.fsdp.mixedPrecision.reduce': 'bf16',
    'accelerator.amp.lossScale.initial': 4096,
    'accelerator.amp.lossScale.growthInterval': 500,
    'accelerator.amp.lossScale.hysteresis': 2,
    'accelerator.amp.lossScale.minimum': 1,
  },
  'deepspeed-auto.json': {
    'accelerator.strategy': 'fsdp',
    'accelerator.fsdp.stage': 3,
    'accelerator.fsdp.cpuOffload': true,
  },
  'megatron.yaml': {
    'launch.nproc': 4,
    'launch.nnodes': 1,
    'accelerator.strategy': 'fsdp',
    'accelerator.fsdp.stage': 1,
    'accelerator.mixedPrecision': 'bf16',
    'accelerator.checkpointEvery': 1,
    'accelerator.gradientClipping.norm': 1,
    'accelerator.mesh.fsdp': -1,
    'accelerator.mesh.tensor': 2,
  },
  'tpu.yaml': {
    'launch.nproc': 1,
    'launch.nnodes': 1,
    'accelerator.strategy': 'ddp',
    'accelerator.mixedPrecision': 'no',
  },
};
// It names deepspeed.json, whose options are added.
const WITH_FILE = { 'launch.nproc': 8, 'launch.nnodes': 1, ...EXPECTED['deepspeed.json'] };

describe('acc convert-config', () => {
  it('has expectations for each fixture', () => {
    expect(readdirSync(FOLDER).sort()).toEqual([...Object.keys(EXPECTED), 'deepspeed-file.yaml'].sort());
  });

  it.each([...Object.entries(EXPECTED), ['deepspeed-file.yaml', WITH_FILE] as const])(
    'writes the options of %s, and lists each of its keys once',
    async (name, expected) => {
      const { report, options } = await converted(join(FOLDER, name));
      expect(options).toEqual(expected);
      const { taken, changed, leftOut } = report;
      const rows = [...taken, ...changed, ...leftOut];
      const content = (file: string) =>
        leavesOf(parse(readFileSync(join(FOLDER, file), 'utf8')) as Record<string, unknown>);
      const others = name === 'deepspeed-file.yaml' ? content('deepspeed.json') : [];
      const keys = [...content(name).map(([key]) => key), ...others.map(([key]) => `deepspeed.json: ${key}`)];
      expect(rows.map(({ key }) => key).sort()).toEqual(keys.sort());
      expect(Object.assign({}, ...rows.map(({ options: given }) => given))).toEqual(
        expect.objectContaining(
          Object.fromEntries(Object.keys(expected).map((key) => [key, expect.anything()])),
        ),
      );
      for (const { key, note } of [...changed, ...leftOut]) expect(note, key).toMatch(/\w/);
      expect(rows.filter(({ note }) => note?.startsWith('an unknown key'))).toEqual([]);
    },
  );

  it('says what was converted with a difference and what was not', async () => {
    const run = await convert(join(FOLDER, 'multi-gpu.yaml'));
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toContain('is a file of Hugging Face Accelerate.');
    expect(run.stdout).toMatch(
      /with a difference \(2\):[^]*num_processes: 8 +launch\.nproc: 4 \(the number on each host\)/,
    );
    expect(run.stdout).toMatch(/not converted \(\d\):[^]*machine_rank: 0 .*--node-rank 0/);
    expect(run.stdout).toContain(join(folder, 'acc.yaml'));
    const again = await convert(join(FOLDER, 'multi-gpu.yaml'));
    expect(again).toMatchObject({ code: 2, stdout: '' });
    expect(again.stderr).toContain('ACC_CONFIG_EXISTS');
    const shown = await convert(join(FOLDER, 'multi-gpu.yaml'), '--output', '-');
    expect(shown.stdout).toBe(readFileSync(join(folder, 'acc.yaml'), 'utf8'));
    expect(shown.stderr).toContain('with a difference');
  });

  it('lists values that an option does not take, keys that contradict others, and unknown keys', async () => {
    const path = join(folder, 'default_config.yaml');
    writeFileSync(
      path,
      [
        'distributed_type: MULTI_GPU\nnum_processes: 3\nnum_machines: 2\nmixed_precision: no\nfp16: true',
        'gpu_ids: 0,1\nnum_proceses: 3\nrdzv_backend: etcd-v2\nmain_process_port: 29500',
        'deepspeed_config: { gradient_clipping: -1, zero_stage: 2, offload_optimizer_device: nvme }',
      ].join('\n'),
    );
    const { report, options } = await converted(path);
    expect(options).toEqual({
      'launch.nnodes': 2,
      'launch.rdzvBackend': 'etcd',
      'accelerator.strategy': 'ddp',
      'accelerator.mixedPrecision': 'no',
    });
    expect(Object.fromEntries(report.leftOut.map(({ key, note }) => [key, note]))).toEqual({
      num_processes: expect.stringContaining('multiple of 2') as unknown,
      fp16: expect.stringContaining('mixedPrecision: no') as unknown,
      gpu_ids: expect.stringContaining('CUDA_VISIBLE_DEVICES=0,1') as unknown,
      num_proceses: expect.stringContaining('num_processes') as unknown,
      main_process_port: expect.stringContaining('--rdzv-endpoint') as unknown,
      'deepspeed_config.gradient_clipping': expect.stringContaining('a number above 0') as unknown,
      'deepspeed_config.zero_stage': expect.stringContaining('strategy: ddp') as unknown,
      'deepspeed_config.offload_optimizer_device': expect.stringContaining('optimizer: true') as unknown,
    });
  });

  it.each(PARALLEL)('maps %s to the mesh', async (_, content, expected) => {
    const path = join(folder, 'foreign.json');
    writeFileSync(path, JSON.stringify(content));
    const { text, keys } = await convertConfig(path);
    const { accelerator: written } = (parse(text) ?? {}) as { accelerator?: Record<string, unknown> };
    expect(Object.fromEntries(leavesOf(written ?? {}))).toEqual(expected);
    expect(keys.map(({ key }) => key)).toEqual(leavesOf(content).map(([key]) => key));
    expect(keys.filter(({ outcome }) => outcome.note?.startsWith('an unknown key'))).toEqual([]);
  });

  it('a static loss scale stays one, and takes nothing of a dynamic one', async () => {
    const path = join(folder, 'foreign.json');
    writeFileSync(
      path,
      JSON.stringify({ fp16: { enabled: true, loss_scale: 128, loss_scale_window: 500, hysteresis: 2 } }),
    );
    const { text } = await convertConfig(path);
    expect(parse(text)).toMatchObject({
      accelerator: { mixedPrecision: 'fp16', amp: { lossScale: { initial: 128, dynamic: false } } },
    });
    expect(text).not.toMatch(/^ *(growthInterval|hysteresis):/m);
  });

  it('says of parallelism what the program does', async () => {
    const path = join(folder, 'foreign.json');
    const sizes = { megatron_lm_tp_degree: 2, megatron_lm_pp_degree: 2 };
    const more = { megatron_lm_sequence_parallelism: true, megatron_lm_use_distributed_optimizer: true };
    writeFileSync(path, JSON.stringify({ megatron_lm_config: { ...sizes, ...more } }));
    const { keys } = await convertConfig(path);
    expect(
      Object.fromEntries(keys.map(({ key, outcome }) => [key.split('lm_').at(-1), outcome.note])),
    ).toEqual({
      tp_degree: expect.stringContaining('parallelize') as unknown,
      pp_degree: expect.stringContaining('pipelined') as unknown,
      sequence_parallelism: expect.stringContaining("'sequence'") as unknown,
      use_distributed_optimizer: undefined,
    });
  });

  it('notes say of nothing else that it is missing', () => {
    const readme = readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8');
    const [, section = ''] = /^## Not there yet\n(.*?)^## /ms.exec(`${readme}\n## `) ?? [];
    const listed = section.replaceAll('`', '').replace(/\s+/g, ' ');
    expect(MISSING.filter((feature) => !listed.includes(feature))).toEqual([]);
    const sources = readdirSync(import.meta.dirname).filter(
      (name) => !/\.test\.ts$|^missing\.ts$/.test(name),
    );
    const SAYS = /not exist|not there|n't there|not supported|unsupported|here yet|not yet|missing:/i;
    expect(
      sources.filter((name) => SAYS.test(readFileSync(join(import.meta.dirname, name), 'utf8'))),
    ).toEqual([]);
    expect(sources.length).toBeGreaterThan(10);
    // @ts-expect-error Rules name options by the type of the schema, which has no such option.
    expect(accelerator('mesh.tensors', 2).name).toBe('mesh.tensors');
  });

  it.each([
    ['compute_environment: AMAZON_SAGEMAKER\n', 'ACC_CONVERT_UNKNOWN'],
    ['launch: { nproc: 2 }\n', 'ACC_CONVERT_UNKNOWN'],
    ['colour: red\n', 'ACC_CONVERT_UNKNOWN'],
    ['a: [', 'ACC_CONVERT_INVALID'],
    ['{ "train_batch_size": 1, }', 'ACC_CONVERT_INVALID'],
    ['text', 'ACC_CONVERT_INVALID'],
  ])('refuses %j', async (text, code) => {
    const path = join(folder, 'given');
    writeFileSync(path, text);
    const run = await convert(path);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain(code);
  });

  it('refuses a file that does not exist', async () => {
    expect((await convert('none.yaml')).stderr).toContain('ACC_CONVERT_MISSING');
  });
});
