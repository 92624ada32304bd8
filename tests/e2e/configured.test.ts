import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { resultsOfRanks } from '@acc/testkit';
import { expect, it } from 'vitest';

it('the program comes first, then variables, then the config file, on two ranks', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'acc-configured-'));
  const text = 'accelerator:\n  gradientAccumulationSteps: 4\n  mixedPrecision: fp16\n';
  writeFileSync(join(cwd, 'acc.yaml'), text);
  const results = await resultsOfRanks({
    script: join(import.meta.dirname, 'ranks/configured.ts'),
    ranks: 2,
    cwd,
    env: {
      OMP_NUM_THREADS: '1',
      ACC_MIXED_PRECISION: 'bf16',
      ACC_STRATEGY: 'ddp',
      ACC_COMMAND_LINE: 'ACC_STRATEGY',
    },
  });
  rmSync(cwd, { recursive: true });
  for (const result of results) {
    expect(result).toEqual([
      { steps: 4, numProcesses: 2, dtype: 'bf16' },
      { steps: 2, numProcesses: 2, dtype: 'float32' },
      { code: 'ACC_OPTIONS_DISAGREE' },
    ]);
  }
});

/** Files of Hugging Face Accelerate and DeepSpeed. */
const FOREIGN = join(import.meta.dirname, '../../packages/cli/fixtures/foreign-configs');
/** Two ranks that compute one model, in the names of DeepSpeed and Megatron-LM. */
const PARALLEL = {
  'sequences.json': { zero_optimization: { stage: 3 }, sequence_parallel_size: 2 },
  'experts.json': { megatron_lm_config: { megatron_lm_expert_model_parallel_size: 2 } },
};
const ACC = join(import.meta.dirname, '../../packages/cli/bin/acc.js');

it('programs train with each file that acc convert-config writes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-converted-'));
  for (const [name, content] of Object.entries(PARALLEL))
    writeFileSync(join(folder, name), JSON.stringify(content));
  const foreign = [
    ...readdirSync(FOREIGN).map((name) => join(FOREIGN, name)),
    ...Object.keys(PARALLEL).map((name) => join(folder, name)),
  ];
  const files = foreign.map((path) => {
    const output = join(folder, `${basename(path)}.acc.yaml`);
    execFileSync(process.execPath, [ACC, 'convert-config', path, '--output', output]);
    return output;
  });
  const results = await resultsOfRanks({
    script: join(import.meta.dirname, 'ranks/converted.ts'),
    ranks: 2,
    args: files,
    // Offload, which some of the files ask for, needs tensors on the host.
    env: { OMP_NUM_THREADS: '1', ACC_DEVICE: 'cpu' },
  });
  rmSync(folder, { recursive: true });
  const [first, second] = results as Record<string, { readonly axes?: string[]; readonly steps?: number }>[];
  expect(second).toEqual(first);
  expect(Object.keys(first!)).toHaveLength(files.length);
  const axesOf = (name: string) => first![`${name}.acc.yaml`];
  expect(axesOf('megatron.yaml')).toEqual({ axes: ['fsdp', 'tensor'], steps: 1 });
  for (const name of ['fsdp1.yaml', 'deepspeed-auto.json'])
    expect(axesOf(name), name).toEqual({ axes: ['fsdp'], steps: 1 });
  for (const name of ['deepspeed.yaml', 'deepspeed.json', 'deepspeed-file.yaml'])
    expect(axesOf(name), name).toEqual({ axes: ['fsdp'], steps: 4 });
  for (const name of ['basic.json', 'multi-cpu.yaml', 'multi-gpu.yaml', 'tpu.yaml'])
    expect(axesOf(name), name).toEqual({ axes: ['data'], steps: 1 });
  expect(axesOf('sequences.json')).toEqual({ axes: ['fsdp', 'context'], steps: 1 });
  expect(axesOf('experts.json')).toEqual({ axes: ['data', 'expert'], steps: 1 });
  expect(axesOf('fsdp2.yaml')).toEqual({ axes: ['data', 'fsdp'], steps: 1 });
});
