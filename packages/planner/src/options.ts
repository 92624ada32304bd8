import * as z from 'zod';
import { MOST_LAYERS } from './memory/architecture.js';

/** Larger numbers are typing errors, and would take hours and all memory. */
const MOST = 1e9;
const MOST_DEVICES = 1e6;

export const countUpTo = (most: number) => z.number().int().positive().max(most);
export const count = countUpTo(MOST);

/** The sizes of a transformer. */
export interface ModelSizesOptions {
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  /** Heads of keys and values. Default: `heads`. */
  readonly kvHeads?: number;
  /** Inner width of the MLP. Default: 4 × hidden; if `gated`, the next multiple of 256 from 8/3 × hidden on. */
  readonly ffn?: number;
  readonly vocabulary: number;
  /** Tokens of a sequence. */
  readonly sequence: number;
  /** Whether the MLP has three matrices (SwiGLU, as in Llama). Default false. */
  readonly gated?: boolean;
}

export const modelSchema = z.object({
  ...{
    layers: countUpTo(MOST_LAYERS),
    hidden: count,
    heads: count,
    kvHeads: count.optional(),
    ffn: count.optional(),
  },
  ...{ vocabulary: count, sequence: count, gated: z.boolean().default(false) },
});

/** A device that no preset has. */
export interface MeasuredDevice {
  readonly name: string;
  /** FLOP/s of large products of matrices, as `accelerator.profile` measures them. */
  readonly flopsPerSecond: Readonly<Partial<Record<'float32' | 'tf32' | 'fp16' | 'bf16', number>>>;
}

/** Constants of the hardware that differ from a preset's, as measured on the cluster. */
export interface ClusterOptions {
  /** The name of a preset, such as `a100-sxm`. */
  readonly preset?: string;
  /**
   * In place of a preset: a device by what it reaches. The fields below then have no defaults; those of the
   * network and of disks are needed only where there are several hosts, or offload to disks.
   */
  readonly measured?: MeasuredDevice;
  readonly devices: number;
  readonly devicesPerHost?: number;
  /** FLOP/s of products as a part of the data sheet's, such as 0.8 under a lower limit of power. Default 1. */
  readonly clock?: number;
  readonly memoryBytes?: number;
  readonly memoryBytesPerSecond?: number;
  /** A device's link to others of its host, measured by `acc test`. */
  readonly linkBytesPerSecond?: number;
  readonly linkLatencySeconds?: number;
  /** A device's card of the network. */
  readonly networkBytesPerSecond?: number;
  readonly networkLatencySeconds?: number;
  /** Between a device and its host's memory, in one direction. Offload uses it. */
  readonly hostLinkBytesPerSecond?: number;
  /** Memory of the CPUs of a host. */
  readonly hostMemoryBytes?: number;
  /** The bytes that the disks of a host read or write together. */
  readonly nvmeBytesPerSecond?: number;
}

/** Bytes, and bytes or FLOPs a second: what no hardware has is a typing error. */
const rate = z.number().min(1).max(1e24);
const latency = z.number().positive().max(1000);

const measuredSchema = z.strictObject({
  name: z.string(),
  flopsPerSecond: z
    .strictObject({
      ...{ float32: rate.optional(), tf32: rate.optional() },
      ...{ fp16: rate.optional(), bf16: rate.optional() },
    })
    .refine((rates) => Object.keys(rates).length > 0, 'expected the rate of a precision'),
});

export const clusterSchema = z.object({
  ...{
    preset: z.string().optional(),
    measured: measuredSchema.optional(),
    devices: countUpTo(MOST_DEVICES),
    devicesPerHost: count.optional(),
    clock: z.number().min(1e-6).max(1).default(1),
  },
  ...{ memoryBytes: rate.optional(), memoryBytesPerSecond: rate.optional() },
  ...{ linkBytesPerSecond: rate.optional(), linkLatencySeconds: latency.optional() },
  ...{ networkBytesPerSecond: rate.optional(), networkLatencySeconds: latency.optional() },
  ...{ hostLinkBytesPerSecond: rate.optional(), hostMemoryBytes: rate.optional() },
  nvmeBytesPerSecond: rate.optional(),
});

/** The values that lie outside the device between their uses, as by `fsdp.offload` of `@acc/core`. */
export interface OffloadPlan {
  /** The device's share of the parameters. For stage 3. Default false. */
  readonly params?: boolean;
  /** The optimizer's state and the gradients. Default false. */
  readonly optimizer?: boolean;
  /** `cpu`: host memory. `nvme`: files on the host's disks. Default `cpu`. */
  readonly to?: 'cpu' | 'nvme';
}

/** How a model is trained on a cluster. */
export interface PlanOptions {
  /** Sizes of the axes. Their product is the number of devices; `data` may be left out. */
  readonly mesh: {
    readonly data?: number;
    readonly tensor?: number;
    readonly pipeline?: number;
    readonly context?: number;
    /** Weights, gradients and optimizer state are divided over it (stage 3). */
    readonly fsdp?: number;
  };
  /**
   * ZeRO over `data` and `context`: 0 divides nothing, 1 the optimizer's state, 2 gradients as well.
   * Default: 1 with `flashAttention`, else 0. The axis `fsdp` is stage 3, which may be given beside it.
   */
  readonly stage?: 0 | 1 | 2 | 3;
  /** Default: nothing. */
  readonly offload?: OffloadPlan | null;
  /**
   * Tokens of a sequence. Default: those of `model`; of a config.json, the longest sequence that the
   * model takes.
   */
  readonly sequence?: number;
  /** Sequences of a step, of all devices. */
  readonly globalBatch: number;
  /** Sequences of a device in one forward pass. */
  readonly microBatch: number;
  /** Micro-batches of a step, as a check: without a pipeline `globalBatch` ÷ data ÷ fsdp ÷ `microBatch`, else 1. */
  readonly accumulation?: number;
  /** Stages of a device in a pipeline; above 1 the schedule is interleaved. Default 1. */
  readonly chunks?: number;
  /** The part of forward that backward computes again. `selective`: the core of attention. Default `none`. */
  readonly recompute?: 'none' | 'selective' | 'full';
  /** With `recompute: 'full'`, which it implies: the layers of a section. Only what is between sections is kept. Default 1. */
  readonly checkpointEvery?: number | null;
  /** Whether norms and residuals are divided over the axis `tensor`, too. Default false. */
  readonly sequenceParallel?: boolean;
  /** Default false. */
  readonly flashAttention?: boolean;
  /** Default `bf16`, or `fp16` where the device has none. */
  readonly precision?: 'float32' | 'tf32' | 'fp16' | 'bf16' | 'fp8';
  /** The order of a pipeline. Default `1f1b`, or `interleaved` with several chunks. */
  readonly schedule?: 'gpipe' | '1f1b' | 'interleaved' | 'zeroBubble';
  /** Whether bias, activation, dropout, masks and softmax are computed in few kernels. Default true. */
  readonly fused?: boolean;
  /** Whether ranks of `tensor` each send a share of a pipeline's message. Default true. */
  readonly scatterGather?: boolean;
}

export const planSchema = z.object({
  mesh: z.strictObject({
    ...{ data: count.optional(), tensor: count.default(1), pipeline: count.default(1) },
    ...{ context: count.default(1), fsdp: count.default(1) },
  }),
  stage: z.literal([0, 1, 2, 3]).optional(),
  offload: z
    .strictObject({
      ...{ params: z.boolean().default(false), optimizer: z.boolean().default(false) },
      to: z.enum(['cpu', 'nvme']).default('cpu'),
    })
    .nullish(),
  ...{ accumulation: count.optional(), checkpointEvery: count.nullish() },
  ...{ sequence: count.optional(), globalBatch: count, microBatch: count, chunks: count.default(1) },
  recompute: z.enum(['none', 'selective', 'full']).optional(),
  ...{ sequenceParallel: z.boolean().default(false), flashAttention: z.boolean().default(false) },
  precision: z
    .enum(['float32', 'tf32', 'fp16', 'bf16', 'fp8'], {
      error: "expected 'float32', 'tf32', 'fp16', 'bf16' or 'fp8'; int8 takes the memory of bf16",
    })
    .optional(),
  schedule: z.enum(['gpipe', '1f1b', 'interleaved', 'zeroBubble']).optional(),
  ...{ fused: z.boolean().default(true), scatterGather: z.boolean().default(true) },
});

export interface PredictOptions {
  /** Sizes, the name of one of `MODELS`, or the path of a config.json of the Hub or of its folder. */
  readonly model: ModelSizesOptions | string;
  /** A preset with `devices`, or the path of a JSON file with the same fields. */
  readonly cluster: ClusterOptions | string;
  readonly plan: PlanOptions;
}
