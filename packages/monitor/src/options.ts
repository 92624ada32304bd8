import { parseOptions } from '@acc/contract';
import * as z from 'zod';
import type { Alert } from './alerts.js';

/** Options for figures that are logged automatically. */
export interface AutoLogOptions {
  /** The number of optimizer steps between two sets of figures. Default 10. */
  readonly every?: number;
  /** The number of tokens of a sample. With it, tokens per second are logged. */
  readonly tokensPerSample?: number;
  /** Whether to log figures of the machine: CPU, memory, GPUs. Default true. */
  readonly system?: boolean;
  /**
   * Called on the main process for each alert, in addition to the trackers. An error that it throws
   * reaches the training loop.
   */
  readonly onAlert?: (alert: Alert) => void;
  /**
   * A loss counts as a spike if it is this many standard deviations above the moving mean. Default
   * 6.
   */
  readonly spikeDeviations?: number;
  /**
   * A rank counts as slow if it computes this many times as long as the median, three times in a
   * row. Default 1.5.
   */
  readonly slowFactor?: number;
  /** A step that takes longer than this is a stall, in milliseconds. Default 120,000. */
  readonly stallMs?: number;
}

const schema = z.object({
  every: z.number().int().positive().default(10),
  tokensPerSample: z.number().positive().optional(),
  system: z.boolean().default(true),
  onAlert: z
    .custom<AutoLogOptions['onAlert']>((value) => typeof value === 'function', 'a function')
    .optional(),
  spikeDeviations: z.number().positive().default(6),
  slowFactor: z.number().gt(1).default(1.5),
  stallMs: z.number().positive().default(120_000),
});

export type ResolvedAutoLog = Readonly<z.infer<typeof schema>>;

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveAutoLog(options: AutoLogOptions): ResolvedAutoLog {
  return parseOptions('autoLog', schema, options);
}
