import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reduceScatter } from './collectives/collectives.js';
import { CALIBRATIONS } from './hardware/calibrations.js';
import { PRESETS } from './hardware/clusters.js';
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

  it('the state of fsdp is not divided over data again, neither in memory nor in time', () => {
    const of = (stage: 0 | 1) => predict(withPlan({ mesh: { fsdp: 2 }, stage }));
    expect(of(1).memory.optimizer).toBe(of(0).memory.optimizer);
    expect(of(1).breakdown.optimizer).toBe(of(0).breakdown.optimizer);
  });

  it('memory is that of the largest micro-batch', () => {
    const activationsOf = (globalBatch: number, microBatch: number) =>
      predict(withPlan({ mesh: { data: 16 }, globalBatch, microBatch })).memory.activations;
    expect(activationsOf(16 * 6, 4)).toBe(activationsOf(16 * 8, 4));
    expect(activationsOf(16 * 2, 4)).toBe(activationsOf(16 * 2, 2));
  });

  it('memory holds one layer that backward computes again', () => {
    const [none, selective, full] = (['none', 'selective', 'full'] as const).map(
      (recompute) => predict(withPlan({ recompute })).memory,
    );
    expect(none!.recomputed).toBe(0);
    for (const { activations, recomputed } of [selective!, full!])
      expect(recomputed).toBeCloseTo((none!.activations - activations) / MODEL.layers, 3);
  });

  it('context parallelism divides the tokens of activations', () => {
    const [divided, whole] = [2, 1].map(
      (context) => predict(withPlan({ mesh: { context }, flashAttention: true })).memory.activations,
    );
    expect(divided).toBe(whole! / 2);
  });

  it('stage 2 divides gradients, too, and reduces them in each micro-batch', () => {
    const [two, one] = ([2, 1] as const).map((stage) => predict(withPlan({ stage })));
    expect(two!.memory.gradients).toBeCloseTo(one!.memory.gradients / 8, -1);
    expect(two!.memory.optimizer).toBe(one!.memory.optimizer);
    // Without overlap a reduce-scatter, half of the all-reduce, for each of the other micro-batches.
    const { dataCommunication } = two!.breakdown;
    const microBatches = 64 / 8 / 4;
    expect(dataCommunication / one!.breakdown.dataCommunication).toBeCloseTo(1 + (microBatches - 1) / 2, 9);
  });

  it('sections of several layers keep less between them and compute more again at a time', () => {
    const of = (checkpointEvery: number) => predict(withPlan({ checkpointEvery }));
    const [one, four] = [of(1), of(4)];
    expect(one).toEqual(predict(withPlan({ recompute: 'full' })));
    expect(four.memory.activations).toBe(one.memory.activations / 4);
    const whole = predict(withPlan({})).memory.activations / MODEL.layers;
    expect(four.memory.recomputed - one.memory.recomputed).toBeCloseTo(3 * whole, 3);
    expect(four.stepSeconds).toBe(one.stepSeconds);
  });

  describe('of offload', () => {
    const onHost = withPlan({ mesh: { fsdp: 16 }, offload: { params: true, optimizer: true } });
    const cluster = { ...CLUSTER, hostLinkBytesPerSecond: 1e9, nvmeBytesPerSecond: 2e9 };
    const { layers: L, hidden: h, vocabulary: V, sequence: s } = MODEL;
    const parameters = L * (12 * h * h + 13 * h) + (V + s) * h + 2 * h;

    it('move weights, gradients and state from the device to the host', () => {
      const { memory, hostMemoryBytes } = predict(onHost);
      expect([memory.weights, memory.gradients, memory.optimizer]).toEqual([0, 0, 0]);
      // 4 bytes of a weight, 4 of its gradient, 8 of its moments, for the 8 devices of a host.
      expect(hostMemoryBytes).toBeCloseTo((8 * 16 * parameters) / 16, -1);
      expect(predict({ ...onHost, cluster: { ...CLUSTER, hostMemoryBytes: 1e9 } }).fits).toBe(false);
    });

    it('take the time of their bytes, on disks that the devices of a host share in both directions', () => {
      const state = withPlan({ mesh: { data: 16 }, stage: 0, offload: { optimizer: true } });
      const of = (to: 'cpu' | 'nvme') =>
        predict({ ...state, cluster, plan: { ...state.plan, offload: { optimizer: true, to } } });
      // An update reads moments and gradients, and writes moments. Gradients of one micro-batch leave before.
      const [cpu, nvme] = [of('cpu').breakdown.offload, of('nvme').breakdown.offload];
      expect(cpu).toBeGreaterThan((12 * parameters) / 1e9);
      expect(cpu).toBeLessThan((16 * parameters) / 1e9);
      expect(nvme).toBeGreaterThan((20 * parameters) / (2e9 / 8));
      expect(nvme).toBeLessThan((24.1 * parameters) / (2e9 / 8));
      expect(of('nvme').hostMemoryBytes).toBe(0);
    });
  });

  it('say if a model does not fit', () => {
    const large = { ...MODEL, layers: 96, hidden: 12_288, heads: 96 };
    expect(predict({ model: large, cluster: CLUSTER, plan: PLAN }).fits).toBe(false);
  });
});

describe('time', () => {
  const at = (precision: 'float32' | 'bf16') => {
    const { breakdown, flops } = predict(withPlan({ precision }));
    return { products: breakdown.products + breakdown.attention, flops: flops.model / CLUSTER.devices };
  };

  it('small products lose the same time in float32', () => {
    const { float32, bf16 } = PRESETS['a100-sxm'].device.peakFlops;
    const more = (at('bf16').flops * (1 / float32! - 1 / bf16!)) / CALIBRATIONS.megatron2021.products;
    expect((at('float32').products - at('bf16').products) / more).toBeCloseTo(1, 9);
  });

  it('gradients are added over context as over data, and divide the state of the optimizer', () => {
    const [context, data] = (['context', 'data'] as const).map((axis) =>
      predict(withPlan({ mesh: { [axis]: 16 }, stage: 1 })),
    );
    expect(context!.breakdown.dataCommunication).toBeGreaterThan(0);
    expect(context!.breakdown.dataCommunication).toBe(data!.breakdown.dataCommunication);
    expect(context!.breakdown.optimizer).toBe(data!.breakdown.optimizer);
    expect(context!.memory.optimizer).toBe(data!.memory.optimizer);
  });

  it('a vocabulary that tensor does not divide is whole on each of its ranks', () => {
    const [even, odd] = [51_200, 51_201].map((vocabulary) => {
      const model = { ...MODEL, layers: 1, vocabulary };
      const { memory } = predict({ model, cluster: CLUSTER, plan: { ...PLAN, mesh: { tensor: 8 } } });
      return memory.weights;
    });
    // Float32 and 16 bits of 7/8 of the embedding, which is the head, too.
    expect(odd! - even!).toBeGreaterThan(6 * 44_800 * MODEL.hidden);
  });

  it('fsdp without overlap takes the time of all its gathers and reductions', () => {
    const { hidden: h, layers } = MODEL;
    const cluster = { ...CLUSTER, devices: 8 };
    const plan = { mesh: { fsdp: 8 }, globalBatch: 64, microBatch: 8 };
    const { dataCommunication } = predict({ model: MODEL, cluster, plan }).breakdown;
    const { link } = PRESETS['a100-sxm'];
    const reached = { ...link, bytesPerSecond: link.bytesPerSecond * CALIBRATIONS.megatron2021.link };
    const gather = reduceScatter(2 * (12 * h * h + 13 * h), 8, reached);
    expect(dataCommunication).toBeGreaterThan(3 * layers * gather);
    const flash = predict({ model: MODEL, cluster, plan: { ...plan, flashAttention: true } }).breakdown;
    expect(flash.dataCommunication).toBeLessThan(dataCommunication / 2);
  });

  it('zeroBubble sends what 1f1b sends, and waits less', () => {
    const [split, whole] = (['zeroBubble', '1f1b'] as const).map((schedule) =>
      predict(withPlan({ mesh: { pipeline: 4 }, microBatch: 1, schedule })),
    );
    const { pipelineCommunication, pipelineBubble } = whole!.breakdown;
    expect(split!.breakdown.pipelineCommunication).toBeCloseTo(pipelineCommunication, 12);
    expect(split!.breakdown.pipelineBubble).toBeLessThan(pipelineBubble);
    expect(split!.breakdown.pipelineBubble).toBeGreaterThanOrEqual(0);
  });

  it('a step without a pipeline may have any number of micro-batches', () => {
    const batch = (globalBatch: number, schedule: 'gpipe' | '1f1b' = '1f1b') =>
      predict(withPlan({ globalBatch, schedule }));
    const [small, large] = [batch(64), batch(64 * 2 ** 20)];
    expect(large.breakdown.products / small.breakdown.products).toBeCloseTo(2 ** 20, 0);
    expect(large.memory).toEqual(small.memory);
    expect(batch(64, 'gpipe').memory.activations).toBe(2 * small.memory.activations);
  });

  it('hosts share cards and bridges as they do in the preset', () => {
    // A DGX-1 has four cards of 100 Gb/s for eight devices.
    const { devicesPerHost, network } = PRESETS['v100-sxm'];
    expect(devicesPerHost * network.bytesPerSecond).toBe(4 * 12.5e9);
    const tensorSeconds = (more: object) =>
      predict({
        ...{ model: MODEL, cluster: { preset: 'h100-nvl', devices: 8, ...more } },
        plan: { ...PLAN, mesh: { tensor: 4 } },
      }).breakdown.tensorCommunication;
    expect(tensorSeconds({})).toBeGreaterThan(2 * tensorSeconds({ devicesPerHost: 8 }));
  });
});

describe('sizes', () => {
  it('a gated MLP is as wide as in Llama', () => {
    const model = { ...MODEL, hidden: 4096, heads: 32, gated: true };
    const of = (more: object) =>
      predict({ ...withPlan({ mesh: { tensor: 8 } }), model: { ...model, ...more } });
    expect(of({}).flops).toEqual(of({ ffn: 11_008 }).flops);
  });

  it('the sequence of the plan goes before that of the model', () => {
    const short = predict({ ...withPlan({ sequence: 512 }), model: { ...MODEL, gated: true } });
    const model = { ...MODEL, gated: true, sequence: 512 };
    expect(short).toEqual(predict({ ...withPlan({}), model }));
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

  it('the sequence of the plan goes before the longest one of a config.json', () => {
    const llama = {
      ...{ model_type: 'llama', hidden_size: 2048, num_hidden_layers: 24, num_attention_heads: 16 },
      ...{ intermediate_size: 5632, vocab_size: 50_000, max_position_embeddings: 131_072 },
    };
    const model = write('llama.json', llama);
    const sizes = { ...MODEL, ffn: 5632, gated: true };
    expect(predict({ ...withPlan({ sequence: 2048 }), model }).stepSeconds).toBe(
      predict({ ...withPlan({}), model: sizes }).stepSeconds,
    );
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
      'heads of keys and values that tensor does not divide',
      { ...withPlan({ mesh: { tensor: 2 } }), model: { ...MODEL, kvHeads: 1 } },
      'ACC_PLAN_SHAPE Give mesh.tensor as a divisor of 1, such as 1.',
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
    [
      'several chunks of a schedule for one',
      withPlan({ mesh: { pipeline: 4 }, chunks: 2, schedule: '1f1b' }),
      "ACC_PLAN_SHAPE Give plan.chunks as 1, or plan.schedule as 'interleaved'.",
    ],
    [
      'interleaved micro-batches that are no multiple of the pipeline',
      withPlan({ mesh: { pipeline: 4 }, chunks: 2, globalBatch: 24, microBatch: 1 }),
      'ACC_PLAN_SHAPE Change plan.globalBatch or plan.microBatch, so that',
    ],
    [
      'a sequence longer than the embedding of positions',
      withPlan({ sequence: 4096 }),
      'ACC_PLAN_SHAPE Give plan.sequence as at most 2048.',
    ],
    ['a batch that ranks cannot share', withPlan({ globalBatch: 63 }), 'ACC_PLAN_SHAPE'],
    [
      'offload in a pipeline',
      withPlan({ mesh: { pipeline: 2 }, offload: { optimizer: true } }),
      'ACC_PLAN_SHAPE Leave one of them out.',
    ],
    [
      'offload to disks that hosts lack',
      {
        ...withPlan({ offload: { optimizer: true, to: 'nvme' } }),
        cluster: { preset: 'a100-slingshot', devices: 16 },
      },
      "ACC_PLAN_SHAPE Give plan.offload.to as 'cpu', or cluster.nvmeBytesPerSecond.",
    ],
    [
      'offload of parameters that are not divided',
      withPlan({ offload: { params: true } }),
      'ACC_PLAN_SHAPE Give plan.mesh.fsdp, or offload the optimizer only.',
    ],
    ['stage 3 without an axis', withPlan({ stage: 3 }), 'ACC_PLAN_SHAPE Give plan.mesh.fsdp'],
    ['sections without recomputation', withPlan({ recompute: 'none', checkpointEvery: 2 }), 'ACC_PLAN_SHAPE'],
    ['sections larger than the model', withPlan({ checkpointEvery: 25 }), 'ACC_PLAN_SHAPE Give at most 24.'],
    ['another accumulation', withPlan({ accumulation: 3 }), 'ACC_PLAN_SHAPE Leave it out'],
    ['an unknown name of a model', { ...withPlan({}), model: 'lama-7b' }, "Did you mean 'llama-7b'?"],
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
