import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PlanOptions, PredictOptions } from './options.js';
import { predict } from './predict.js';

const MODEL = { layers: 24, hidden: 2048, heads: 16, vocabulary: 50_000, sequence: 2048 };
const CLUSTER = { preset: 'a100-sxm', devices: 16 };
const PLAN: PlanOptions = { mesh: { tensor: 2 }, globalBatch: 64, microBatch: 4 };

const withPlan = (plan: Partial<PlanOptions>): PredictOptions => ({
  ...{ model: MODEL, cluster: CLUSTER, plan: { ...PLAN, ...plan } },
});
const withCluster = (cluster: object): PredictOptions => ({
  ...{ model: MODEL, cluster: { ...CLUSTER, ...cluster }, plan: PLAN },
});

describe('FLOPs', () => {
  it('are those of the formulas of the papers', () => {
    const { layers: L, hidden: h, sequence: s, vocabulary: V } = MODEL;
    const B = PLAN.globalBatch;
    const { model } = predict(withPlan({})).flops;
    // Megatron-LM, SC 2021: 72 BsLh² (1 + s/6h + V/12Lh).
    expect(model / (72 * B * s * L * h ** 2 * (1 + s / (6 * h) + V / (12 * L * h)))).toBeCloseTo(1, 12);
    const { hardware } = predict(withPlan({ recompute: 'full' })).flops;
    expect(hardware / (96 * B * s * L * h ** 2 * (1 + s / (6 * h) + V / (16 * L * h)))).toBeCloseTo(1, 12);
    // One more forward of attention's two products, 4 Bs²hL, not the s/3h of Korthikanti et al., which is three.
    const selective = predict(withPlan({ recompute: 'selective' })).flops.hardware;
    expect(selective - model).toBeCloseTo(4 * B * s * s * h * L, -8);
  });

  it('of a Llama count its keys, values and three matrices', () => {
    const llama = { ...MODEL, kvHeads: 4, ffn: 5632, gated: true };
    const { flops } = predict({ model: llama, cluster: CLUSTER, plan: PLAN });
    const token = 24 * (2 * 2048 * (2048 + 1024 + 2048 + 3 * 5632) + 4 * 2048 * 2048) + 2 * 2048 * 50_000;
    expect(flops.model).toBe(3 * token * 64 * 2048);
  });
});

describe('predictions', () => {
  it('a faster link, memory or clock makes a step faster', () => {
    const { stepSeconds } = predict(withCluster({}));
    expect(predict(withCluster({ clock: 0.8 })).stepSeconds).toBeGreaterThan(stepSeconds);
    expect(predict(withCluster({ linkBytesPerSecond: 50e9 })).stepSeconds).toBeGreaterThan(stepSeconds);
    expect(predict(withCluster({ memoryBytesPerSecond: 1e12 })).stepSeconds).toBeGreaterThan(stepSeconds);
    expect(predict(withCluster({ networkLatencySeconds: 1e-3 })).stepSeconds).toBeGreaterThan(stepSeconds);
  });

  it('fsdp divides the state over its ranks', () => {
    const shared = predict(withPlan({ mesh: { fsdp: 16 } })).memory;
    const whole = predict(withPlan({ mesh: { data: 16 } })).memory;
    expect(shared.optimizer).toBeCloseTo(whole.optimizer / 16, -1);
    expect(shared.gathered).toBeGreaterThan(0);
  });

  it('stage 1 divides only the state of the optimizer', () => {
    const [divided, whole] = ([1, 0] as const).map((stage) => predict(withPlan({ stage })).memory);
    expect(divided!.optimizer).toBeCloseTo(whole!.optimizer / 8, -1);
    expect(divided!.gradients).toBe(whole!.gradients);
  });

  it('context parallelism divides the tokens of activations', () => {
    const [divided, whole] = [2, 1].map(
      (context) => predict(withPlan({ mesh: { context }, flashAttention: true })).memory.activations,
    );
    expect(divided).toBe(whole! / 2);
  });

  it('say if a model does not fit', () => {
    const large = { ...MODEL, layers: 96, hidden: 12_288, heads: 96 };
    expect(predict({ model: large, cluster: CLUSTER, plan: PLAN }).fits).toBe(false);
  });
});

describe('files', () => {
  let folder = '';
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'acc-planner-'))));
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (name: string, content: unknown): string => {
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
    return join(folder, name);
  };

  it('give the model and the cluster', () => {
    const config = {
      ...{ model_type: 'gpt2', n_embd: 2048, n_layer: 24, n_head: 16, vocab_size: 50_000, n_positions: 2048 },
    };
    write('config.json', config);
    const cluster = write('cluster.json', CLUSTER);
    expect(predict({ model: folder, cluster, plan: PLAN })).toEqual(predict(withPlan({})));
  });

  it.each([
    ['ACC_MODEL_NOT_FOUND', { model: 'nowhere/config.json' }],
    ['ACC_PLAN_CLUSTER', { cluster: 'nowhere/cluster.json' }],
  ])('%s: a file that does not exist', (code, more) => {
    expect(() => predict({ ...withPlan({}), ...more })).toThrow(expect.objectContaining({ code }));
  });

  it('ACC_PLAN_CLUSTER: a torn file, or one without an object', () => {
    for (const text of ['{"preset": "a100', '[]']) {
      const cluster = write('torn.json', text);
      expect(() => predict({ ...withPlan({}), cluster })).toThrow(
        expect.objectContaining({ code: 'ACC_PLAN_CLUSTER' }),
      );
    }
  });
});

describe('wrong input', () => {
  const codeAndHelp = (options: PredictOptions) => {
    try {
      predict(options);
    } catch (error) {
      const { code, help } = error as { code: string; help: string };
      return `${code} ${help}`;
    }
    return 'none';
  };

  it.each([
    [
      'a typing error in a preset',
      withCluster({ preset: 'a100-smx' }),
      "ACC_PLAN_CLUSTER Did you mean 'a100-sxm'?",
    ],
    ['no devices', withCluster({ devices: 0 }), 'ACC_INVALID_OPTION'],
    [
      'heads that do not divide the width',
      { ...withPlan({}), model: { ...MODEL, heads: 17 } },
      'ACC_PLAN_SHAPE Give model.heads as a divisor of 2048',
    ],
    [
      'heads that tensor does not divide',
      { ...withCluster({ devices: 12 }), plan: { ...PLAN, mesh: { tensor: 3 }, globalBatch: 48 } },
      'ACC_PLAN_SHAPE Give mesh.tensor as a divisor of 16',
    ],
    [
      'more stages than layers',
      withPlan({ mesh: { pipeline: 8 }, chunks: 4 }),
      'ACC_PLAN_SHAPE Give at most 24 stages.',
    ],
    [
      'a mesh of another number of devices',
      withPlan({ mesh: { data: 4, tensor: 2 } }),
      'ACC_PLAN_SHAPE Change cluster.devices',
    ],
    ['a batch that ranks cannot share', withPlan({ globalBatch: 63 }), 'ACC_PLAN_SHAPE'],
    [
      'a precision that the device lacks',
      { ...withPlan({ precision: 'fp8' }) },
      'ACC_PLAN_SHAPE Give plan.precision as one of',
    ],
    ['an unknown axis', withPlan({ mesh: { tensr: 2 } as PlanOptions['mesh'] }), 'ACC_UNKNOWN_OPTION'],
    ['an unknown field', { ...withPlan({}), model: { ...MODEL, layer: 3 } as never }, 'ACC_UNKNOWN_OPTION'],
  ])('%s', (_, options, expected) => {
    expect(codeAndHelp(options)).toContain(expected);
  });
});
