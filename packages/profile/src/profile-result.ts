import type { Collective, KernelLayer, NativeDtype } from '@acc/contract';
import type { Flops } from '@acc/kernels';
import type { LayerRow } from './layer-times.js';
import type { BytesOfOwners, KnownTensors, MemorySample } from './memory-owners.js';
import type { OperatorRow } from './operator-times.js';
import type { Peak } from './peak.js';
import type { StepParts } from './step-parts.js';

export interface ProfilerContext {
  readonly rank: number;
  readonly size: number;
  /** All ranks. */
  readonly collective: Pick<Collective, 'allGatherObject'>;
  readonly kernels: Pick<KernelLayer, 'recorder' | 'device'>;
  /** The dtype of products in training. */
  readonly dtype: NativeDtype;
  readonly training: KnownTensors & { models(): Iterable<object> };
  /** The number of ranks on this host. */
  readonly localSize: number;
}

/** The result of `accelerator.profile`, on this rank. Figures are means over the active steps. */
export interface Profile {
  /** The number of active steps. */
  readonly steps: number;
  /** The time of a step, in milliseconds. */
  readonly stepMs: number;
  /** How that time was spent. */
  readonly parts: StepParts;
  /** The operators of a step, those that take most time first. `console.table` prints it. */
  readonly table: readonly OperatorRow[];
  /** The layers of prepared models, those that take most time first. */
  readonly layers: readonly LayerRow[];
  /** The floating-point operations of a step. */
  readonly flops: Flops;
  /**
   * Model FLOPs utilization: {@link flops}`.model` of a second, divided by {@link peak}. From 0 to 1.
   */
  readonly mfu: number;
  /** The fastest products and copies on this machine. */
  readonly peak: Peak;
  readonly memory: {
    /** The most bytes of tensors that were allocated at one time in the active steps. */
    readonly peakBytes: number;
    /** Who held those bytes. Undefined on a GPU. */
    readonly owners: BytesOfOwners | undefined;
    /** The memory of each owner over time, in the order of the keys of {@link owners}. Empty on a GPU. */
    readonly timeline: readonly MemorySample[];
  };
  /** The path of the trace of this rank in Perfetto's format. Undefined without `traceDir`. */
  readonly trace: string | undefined;
  /** The path of the same trace as Chrome's trace events, in JSON. Undefined without `traceDir`. */
  readonly chromeTrace: string | undefined;
  /** All of it as text, for people. */
  toString(): string;
}
