import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseConfig } from '@acc/config';
import { runAcc } from '../../fixtures/run-acc.js';
import { formatPlans } from './format.js';
import type { PlanFlags } from './options.js';
import { jsonOf, planned } from './report.js';

const FLAGS: PlanFlags = { cluster: 'a100-sxm', devices: 16, batch: 64, count: 6, flashAttention: true };
const SIZES = { layers: 8, hidden: 1024, heads: 8, vocab: 51_200, sequence: 1024 };

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'acc-plan-'))));
afterAll(() => rm(folder, { recursive: true }));

const codeOf = (model: string | undefined, flags: Partial<PlanFlags>): unknown => {
  try {
    planned(model, { ...FLAGS, ...flags });
  } catch (error) {
    return (error as { code?: string }).code;
  }
  return 'none';
};

describe('a plan', () => {
  it('is printed with its options, what does not fit, and constants', () => {
    const text = formatPlans(planned('gpt2-large', { ...FLAGS, tensor: 2, data: 2, checkpointEvery: 2 }));
    expect(text).toContain('gpt2-large, 64 sequences of 1,024 tokens a step, on 16 devices of a100-sxm.');
    expect(text).toMatch(/a step +MFU +memory +bound by +mesh/);
    expect(text).toContain('sections of 2');
    expect(text).toMatch(/products in bf16 +3\.12e\+14 FLOP\/s +NVIDIA A100 data sheet/);
    expect(text).toContain("parallelize(model, 'auto') before prepare.");
    expect(text.split('\n').every((line) => line === line.trimEnd())).toBe(true);
  });

  it.each<[string, Partial<PlanFlags>]>([
    ['data parallel', { tensor: 1, pipeline: 1, fsdp: 1, context: 1, stage: '0' }],
    ['stage 1 and a pipeline', { pipeline: 2, stage: '1', schedule: 'zeroBubble' }],
    ['stage 3, tensor and sections', { fsdp: 4, tensor: 2, checkpointEvery: 2, accumulation: 2 }],
    ['context and float32', { context: 2, precision: 'float32' }],
  ])('of a kind is a config file that acc launch takes: %s', async (_, flags) => {
    const text = formatPlans(planned(undefined, { ...FLAGS, ...SIZES, ...flags }));
    const [, yaml] = /Accelerator\.create:\n((?: {2}.*\n)+)/.exec(text)!;
    const lines = yaml!.split('\n').map((line) => line.slice(2));
    expect(lines[0]).toBe('accelerator:');
    // The options name an axis differently from the table.
    expect(text.includes('The axis data of the table is fsdp here: stage 1')).toBe(flags.stage === '1');
    await expect(parseConfig(lines.join('\n'), 'acc.yaml')).resolves.toBeDefined();
  });

  it('with offload has options that a config file cannot have, and says so', () => {
    const flags: Partial<PlanFlags> = { offload: 'all', offloadTo: 'nvme', fsdp: 16 };
    const text = formatPlans(planned(undefined, { ...FLAGS, ...SIZES, ...flags }));
    expect(text).toContain('fsdp.offload is no option of acc.yaml');
    expect(text).toContain('refuses fsdp.offload');
  });

  it('of a file of a cluster has its devices, or those of --devices', async () => {
    const cluster = join(folder, 'cluster.json');
    await writeFile(cluster, JSON.stringify({ preset: 'h100-sxm', devices: 8 }));
    const devicesOf = (devices?: number) =>
      planned('gpt2', {
        ...FLAGS,
        cluster,
        ...(devices === undefined ? { devices: undefined! } : { devices }),
      }).devices;
    expect([devicesOf(), devicesOf(4)]).toEqual([8, 4]);
  });

  it('has the cost of a training to its target', () => {
    const flags = { ...FLAGS, targetTokens: 1e10, criticalBatch: 512, price: 2, watts: 600 };
    const report = planned('gpt2', flags);
    expect(report.cost!.batches[0]).toMatchObject({ batch: 64 });
    // E_min (1 + B ÷ B_crit) samples, in steps of the batch.
    expect(report.cost!.batches[0]!.steps.mid).toBeCloseTo((1e10 / 1024 / 64) * (1 + 64 / 512), 6);
    const text = formatPlans(report);
    expect(text).toMatch(/batch +steps +(seconds|hours|days) +money +kWh/);
    expect(jsonOf(report, flags)).toBe(report.plans);
    expect(jsonOf(report, { ...flags, details: true })).toBe(report);
  });
});

describe('refused:', () => {
  it.each<[string, string | undefined, Partial<PlanFlags>, string]>([
    ['neither a model nor sizes', undefined, {}, 'ACC_USAGE'],
    ['both', 'gpt2', { layers: 3 }, 'ACC_USAGE'],
    ['some sizes of several', undefined, { layers: 3 }, 'ACC_MISSING_OPTION'],
    ['a preset without devices', 'gpt2', { devices: undefined! }, 'ACC_MISSING_OPTION'],
    ['an unknown preset', 'gpt2', { cluster: 'a100' }, 'ACC_PLAN_CLUSTER'],
    ['a file that does not exist', 'gpt2', { cluster: 'nowhere.json' }, 'ACC_PLAN_CLUSTER'],
    ['an unknown model', 'gpt5', {}, 'ACC_MODEL_NOT_FOUND'],
    ['a place without offload', 'gpt2', { offloadTo: 'nvme' }, 'ACC_USAGE'],
    ['a price without a target', 'gpt2', { price: 2 }, 'ACC_MISSING_OPTION'],
    ['choices that exclude each other', 'gpt2', { tensor: 2, pipeline: 3 }, 'ACC_PLAN_IMPOSSIBLE'],
    ['details without JSON', 'gpt2', { details: true }, 'ACC_USAGE'],
    [
      'JSON that would lack the cost',
      'gpt2',
      { json: true, targetTokens: 1e9, criticalBatch: 9 },
      'ACC_USAGE',
    ],
    [
      'a preset that is not known, before its devices',
      'gpt2',
      { cluster: 'mine', devices: undefined! },
      'ACC_PLAN_CLUSTER',
    ],
    ['more layers than a model has', undefined, { ...SIZES, layers: 1e10 }, 'ACC_INVALID_OPTION'],
    ['more devices than there are', 'gpt2', { devices: 1e15 }, 'ACC_INVALID_OPTION'],
    ['a batch that would take for ever', 'gpt2', { batch: 9e15 }, 'ACC_INVALID_OPTION'],
    ['a sequence longer than the embedding of positions', 'gpt2', { sequence: 4096 }, 'ACC_PLAN_SHAPE'],
    ['a model that is too large', 'gpt3', { devices: 1 }, 'ACC_PLAN_NOTHING_FITS'],
  ])('%s', (_, model, flags, code) => expect(codeOf(model, flags)).toBe(code));
});

it('errors name options of the command', () => {
  expect(() => planned('gpt2', { ...FLAGS, sequence: 4096 })).toThrow('--sequence (4096) is longer');
  expect(() => planned('gpt2', { ...FLAGS, memoryFraction: 2 })).toThrow('--memory-fraction is 2');
  expect(() => planned('llama-3.1-8b', FLAGS)).toThrow(
    expect.objectContaining({ help: expect.stringContaining("Did you mean 'llama-3-8b'?") as string }),
  );
});

describe('acc plan', () => {
  it('prints JSON, the fastest plan first', async () => {
    const args = ['plan', 'gpt2', '--cluster', 'a100-sxm', '--devices', '8', '--batch', '32', '--json'];
    const { code, stdout, stderr } = await runAcc(args);
    expect([code, stderr]).toEqual([0, '']);
    const plans = JSON.parse(stdout) as { plan: object; stepSeconds: number; boundBy: string }[];
    expect(plans).toHaveLength(6);
    expect(plans[0]!.plan).toMatchObject({ offload: null, checkpointEvery: null, globalBatch: 32 });
    expect(plans[0]!.stepSeconds).toBeLessThanOrEqual(plans[5]!.stepSeconds);
  });
});
