import type { PlanOptions, PredictOptions } from '../options.js';
import { FOUNDRY_A100, FOUNDRY_H100, MPT, type FoundryRow } from './llm-foundry.js';

/** A published measurement: settings, and what was measured. */
export interface PublishedRow {
  readonly name: string;
  readonly options: PredictOptions;
  readonly measured: number;
  /** Whether constants were chosen to come close to it. */
  readonly isAimedAt: boolean;
}

/** The measured quantity of a table. */
export type Quantity = 'tflopsPerDevice' | 'stepSeconds' | 'tokensPerSecondAndDevice';

export interface PublishedTable {
  readonly name: string;
  readonly source: string;
  readonly quantity: Quantity;
  /** How its rows were used. */
  readonly note?: string;
  /** The errors in percent that were aimed for on rows that are not marked. */
  readonly bars?: { readonly mean: number; readonly most: number };
  readonly rows: readonly PublishedRow[];
}

const ALL_IN_SIGHT = 'The constants were chosen with all rows in sight.';

const GPT = { vocabulary: 51_200, sequence: 2048 };

type MegatronRow = readonly [
  name: string,
  sizes: readonly [heads: number, hidden: number, layers: number],
  mesh: readonly [tensor: number, pipeline: number],
  batch: readonly [devices: number, globalBatch: number, microBatch: number, chunks: number],
  tflops: number,
];

const SC21_ROWS: readonly MegatronRow[] = [
  ['1.7 B', [24, 2304, 24], [1, 1], [32, 512, 16, 1], 137],
  ['3.6 B', [32, 3072, 30], [2, 1], [64, 512, 16, 1], 138],
  ['7.5 B', [32, 4096, 36], [4, 1], [128, 512, 16, 1], 142],
  ['18.4 B', [48, 6144, 40], [8, 1], [256, 1024, 8, 1], 135],
  ['39.1 B', [64, 8192, 48], [8, 2], [512, 1536, 4, 1], 138],
  ['76.1 B', [80, 10_240, 60], [8, 4], [1024, 1792, 2, 3], 140],
  ['145.6 B', [96, 12_288, 80], [8, 8], [1536, 2304, 2, 2], 148],
  ['310.1 B', [128, 16_384, 96], [8, 16], [1920, 2160, 1, 2], 155],
  ['529.6 B', [128, 20_480, 105], [8, 35], [2520, 2520, 1, 3], 163],
  ['1008 B', [160, 25_600, 128], [8, 64], [3072, 3072, 1, 1], 163],
];

export const SC21: PublishedTable = {
  name: 'Megatron-LM, SC 2021, Table 1 (A100)',
  source:
    'Narayanan et al., arXiv 2104.04473; settings of examples/academic_paper_scripts/sc21/run_table_1.sh',
  quantity: 'tflopsPerDevice',
  bars: { mean: 3, most: 6 },
  rows: SC21_ROWS.map(([name, [heads, hidden, layers], [tensor, pipeline], batch, measured]) => {
    const [devices, globalBatch, microBatch, chunks] = batch;
    return {
      ...{ name, measured, isAimedAt: ['1.7 B', '39.1 B', '1008 B'].includes(name) },
      options: {
        model: { layers, hidden, heads, ...GPT },
        cluster: { preset: 'a100-sxm', devices },
        plan: { mesh: { tensor, pipeline }, globalBatch, microBatch, chunks, recompute: 'full' },
      },
    };
  }),
};

/**
 * Micro-batch, chunks and recomputation are not published. Assumed: at most 2 sequences; one layer a
 * chunk, for 70 B six; none.
 */
const MEGATRON_H100_ROWS: readonly (readonly [
  name: string,
  sizes: readonly [hidden: number, layers: number, heads: number],
  mesh: readonly [tensor: number, pipeline: number, chunks: number],
  batch: readonly [devices: number, globalBatch: number],
  tflops: number,
])[] = [
  ['1.7 B', [2048, 24, 16], [1, 1, 1], [48, 192], 408.8],
  ['7.1 B', [4096, 30, 32], [2, 1, 1], [96, 192], 465.9],
  ['16 B', [6144, 32, 48], [4, 1, 1], [192, 192], 489.1],
  ['32 B', [7168, 48, 56], [8, 1, 1], [384, 192], 459.6],
  ['70 B', [8192, 84, 64], [8, 2, 7], [768, 384], 419.7],
  ['119 B', [10_240, 92, 80], [8, 4, 23], [1536, 768], 420.5],
  ['177 B', [12_288, 96, 96], [8, 6, 16], [2304, 1152], 432.8],
  ['314 B', [16_384, 96, 128], [8, 8, 12], [3072, 1536], 474.4],
  ['462 B', [18_432, 112, 144], [8, 16, 7], [6144, 3072], 459.9],
];

export const MEGATRON_H100: PublishedTable = {
  name: 'Megatron-LM README (H100)',
  source: 'NVIDIA/Megatron-LM, images/model_table.png; micro-batch, chunks and recomputation are assumed',
  quantity: 'tflopsPerDevice',
  note: 'The three marked rows were chosen after the errors of all 84 choices were seen, and the constants with all rows in sight.',
  bars: { mean: 5, most: 10 },
  rows: MEGATRON_H100_ROWS.map(([name, [hidden, layers, heads], mesh, [devices, globalBatch], measured]) => {
    const [tensor, pipeline, chunks] = mesh;
    const plan: PlanOptions = {
      ...{
        mesh: { tensor, pipeline },
        globalBatch,
        chunks,
        flashAttention: true,
        sequenceParallel: tensor > 1,
      },
      microBatch: globalBatch / (devices / tensor / pipeline) >= 2 * pipeline ? 2 : 1,
    };
    return {
      ...{ name, measured, isAimedAt: ['1.7 B', '16 B', '177 B'].includes(name) },
      options: {
        model: { layers, hidden, heads, vocabulary: 131_072, sequence: 4096 },
        cluster: { preset: 'h100-sxm', devices },
        plan,
      },
    };
  }),
};

const KORTHIKANTI_ROWS: readonly (readonly [
  name: string,
  sizes: readonly [heads: number, hidden: number, layers: number],
  mesh: readonly [pipeline: number, chunks: number],
  batch: readonly [globalBatch: number, microBatch: number],
  seconds: readonly [full: number, selective: number],
])[] = [
  ['22 B', [64, 6144, 48], [1, 1], [4, 4], [1.42, 1.1]],
  ['175 B', [96, 12_288, 96], [8, 3], [64, 1], [18.13, 13.75]],
  ['530 B', [128, 20_480, 105], [35, 3], [280, 1], [49.05, 37.83]],
  ['1 T', [160, 25_600, 128], [64, 1], [512, 1], [94.42, 71.49]],
];

export const KORTHIKANTI: PublishedTable = {
  name: 'Korthikanti et al., Table 5 (A100), without refitting',
  source: 'arXiv 2205.05198',
  quantity: 'stepSeconds',
  bars: { mean: 3.5, most: 8 },
  rows: KORTHIKANTI_ROWS.flatMap(
    ([name, [heads, hidden, layers], mesh, [globalBatch, microBatch], seconds]) =>
      (['full', 'selective'] as const).map((recompute, i) => ({
        ...{ name: `${name}, ${recompute}`, measured: seconds[i]!, isAimedAt: false },
        options: {
          model: { layers, hidden, heads, ...GPT },
          cluster: { preset: 'a100-sxm', devices: 8 * mesh[0] },
          plan: {
            mesh: { tensor: 8, pipeline: mesh[0] },
            ...{ globalBatch, microBatch, chunks: mesh[1], recompute, sequenceParallel: i === 1 },
          },
        },
      })),
  ),
};

const foundryRow =
  (preset: string, aimedAt: readonly string[]) =>
  ([
    model,
    sequence,
    devices,
    microBatch,
    globalBatch,
    isCheckpointed,
    measured,
  ]: FoundryRow): PublishedRow => {
    const [layers, hidden, heads] = MPT[model];
    const name = `${model}, ${sequence} tokens, ${devices} devices, micro-batch ${microBatch}`;
    return {
      ...{ name, measured, isAimedAt: aimedAt.includes(name) },
      options: {
        model: { layers, hidden, heads, vocabulary: 50_368, sequence },
        cluster: { preset, devices },
        plan: {
          ...{ mesh: { fsdp: devices }, globalBatch, microBatch, flashAttention: true },
          recompute: isCheckpointed ? 'full' : 'none',
        },
      },
    };
  };

const FOUNDRY_SOURCE = 'mosaicml/llm-foundry, scripts/train/benchmarking/README.md at 8c8dd48f';

export const LLM_FOUNDRY_A100: PublishedTable = {
  name: 'llm-foundry, FSDP (A100 80 GB)',
  source: FOUNDRY_SOURCE,
  quantity: 'tokensPerSecondAndDevice',
  note: ALL_IN_SIGHT,
  bars: { mean: 10, most: 20 },
  rows: FOUNDRY_A100.map(
    foundryRow('a100-sxm', [
      '7b, 2048 tokens, 8 devices, micro-batch 6',
      '7b, 65536 tokens, 8 devices, micro-batch 1',
      '350m, 2048 tokens, 8 devices, micro-batch 32',
    ]),
  ),
};

export const LLM_FOUNDRY_H100: PublishedTable = {
  name: 'llm-foundry, FSDP (H100), without refitting',
  source: FOUNDRY_SOURCE,
  quantity: 'tokensPerSecondAndDevice',
  bars: { mean: 10, most: 20 },
  rows: FOUNDRY_H100.map(foundryRow('h100-sxm', [])),
};

const LLAMA = {
  '8B': { layers: 32, hidden: 4096, heads: 32, kvHeads: 8, ffn: 14_336 },
  '70B': { layers: 80, hidden: 8192, heads: 64, kvHeads: 8, ffn: 28_672 },
  '405B': { layers: 126, hidden: 16_384, heads: 128, kvHeads: 8, ffn: 53_248 },
} as const;
export const llama = (size: keyof typeof LLAMA, sequence = 8192) => ({
  ...{ ...LLAMA[size], vocabulary: 128_256, sequence, gated: true },
});

type BridgeRow = readonly [
  preset: string,
  size: keyof typeof LLAMA,
  devices: number,
  batch: readonly [globalBatch: number, microBatch: number],
  mesh: PlanOptions['mesh'],
  chunks: number,
  tokens: number,
];

const BRIDGE_ROWS: readonly BridgeRow[] = [
  ['h100-sxm', '8B', 8, [128, 1], { fsdp: 8 }, 1, 14_451],
  ['h100-sxm', '70B', 64, [128, 1], { tensor: 4, pipeline: 8 }, 5, 1602],
  ['h100-sxm', '405B', 1024, [512, 1], { tensor: 8, pipeline: 8, context: 2 }, 8, 292],
  ['b200-sxm', '8B', 8, [128, 2], {}, 1, 30_624],
  ['b200-sxm', '405B', 128, [64, 1], { tensor: 4, pipeline: 8, context: 2 }, 8, 661],
  ['gb200-nvl72', '8B', 8, [128, 2], {}, 1, 31_508],
  ['gb200-nvl72', '70B', 64, [256, 2], { fsdp: 64 }, 1, 4312],
  ['gb200-nvl72', '405B', 256, [1536, 1], { tensor: 4, pipeline: 16 }, 4, 813],
];

export const BRIDGE_FP8: PublishedTable = {
  name: 'Megatron-Bridge 25.11, FP8 (H100, B200, GB200)',
  source: 'NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary-archive.md; sequences of 8,192',
  quantity: 'tokensPerSecondAndDevice',
  note: ALL_IN_SIGHT,
  bars: { mean: 15, most: 20 },
  rows: BRIDGE_ROWS.map(([preset, size, devices, [globalBatch, microBatch], mesh, chunks, measured]) => ({
    name: `${preset}, ${size}, ${devices} devices`,
    measured,
    isAimedAt: ['h100-sxm, 8B, 8 devices', 'b200-sxm, 8B, 8 devices'].includes(
      `${preset}, ${size}, ${devices} devices`,
    ),
    options: {
      model: llama(size),
      cluster: { preset, devices },
      plan: {
        ...{ mesh, globalBatch, microBatch, chunks, precision: 'fp8', flashAttention: true },
        sequenceParallel: (mesh.tensor ?? 1) > 1,
      },
    },
  })),
};

/** H100 with 500 W and HBM2e of 2.4 TB/s; the clock was chosen on the compiled row of 8 devices in bf16. */
const TITAN = { preset: 'h100-sxm', memoryBytesPerSecond: 2.4e12, clock: 0.84 };

type TitanRow = readonly [
  name: string,
  row: Omit<PredictOptions, 'cluster'>,
  devices: number,
  tokens: number,
];

const titanRow = (
  name: string,
  [size, devices, tokens]: readonly [keyof typeof LLAMA, number, number],
  plan: PlanOptions,
): TitanRow => [name, { model: llama(size), plan: { flashAttention: true, ...plan } }, devices, tokens];

/** Tokens a second of 8B: plain, compiled, and compiled in fp8. */
const TITAN_8B = [
  [8, [5762, 6667, 8532]],
  [128, [5605, 6514, 8380]],
] as const;

const TITAN_ROWS: readonly TitanRow[] = [
  ...TITAN_8B.flatMap(([devices, [plain, compiled, eightBit]]) => {
    const plan = {
      ...{ mesh: { fsdp: devices }, globalBatch: 2 * devices, microBatch: 2 },
      recompute: 'selective' as const,
    };
    const name = `8B, ${devices} devices`;
    return [
      titanRow(`${name}, bf16`, ['8B', devices, plain], { ...plan, fused: false }),
      titanRow(`${name}, bf16, compiled`, ['8B', devices, compiled], plan),
      titanRow(`${name}, fp8, compiled`, ['8B', devices, eightBit], { ...plan, precision: 'fp8' }),
    ];
  }),
  titanRow('70B, 256 devices, bf16', ['70B', 256, 597], {
    ...{ mesh: { fsdp: 32, tensor: 8 }, globalBatch: 512, microBatch: 16 },
    ...{ recompute: 'full', sequenceParallel: true },
  }),
  ...([1, 2] as const).map((chunks) =>
    titanRow(
      `405B, 512 devices, fp8, ${chunks === 1 ? '1F1B' : 'interleaved'}`,
      ['405B', 512, chunks === 1 ? 100 : 128],
      {
        ...{ mesh: { fsdp: 8, tensor: 8, pipeline: 8 }, globalBatch: 256, microBatch: 4, chunks },
        ...{ recompute: 'full', sequenceParallel: true, precision: 'fp8' },
      },
    ),
  ),
];

export const TORCHTITAN: PublishedTable = {
  name: 'torchtitan (H100, 500 W)',
  source:
    'pytorch/torchtitan, benchmarks/llama3_h100_202412_torchtitan.md; micro-batches of 405B are assumed',
  quantity: 'tokensPerSecondAndDevice',
  note: ALL_IN_SIGHT,
  bars: { mean: 10, most: 20 },
  rows: TITAN_ROWS.map(([name, options, devices, measured]) => ({
    ...{ name, measured, isAimedAt: name.startsWith('8B, 8 devices') && name.endsWith('compiled') },
    options: { ...options, cluster: { ...TITAN, devices } },
  })),
};

export const TABLES = [
  SC21,
  MEGATRON_H100,
  KORTHIKANTI,
  LLM_FOUNDRY_A100,
  LLM_FOUNDRY_H100,
  TORCHTITAN,
  BRIDGE_FP8,
];
