import { parseOptions } from '@acc/contract';
import { z } from 'zod';
import type { Alert } from './alerts.js';

/** Figures that are logged without being asked for one by one. */
export interface AutoLogOptions {
  /** Optimizer steps to a set of figures. Default 10. */
  readonly every?: number;
  /** Gives tokens a second: how many a sample has. */
  readonly tokensPerSample?: number;
  /** Whether figures of the machine are among them: CPU, memory, GPUs. Default true. */
  readonly system?: boolean;
  /** Called on the main process for each alert, beside the trackers. An error that it throws reaches the loop. */
  readonly onAlert?: (alert: Alert) => void;
  /** A loss counts as a spike when it is so many standard deviations above the mean of late. Default 6. */
  readonly spikeDeviations?: number;
  /** A rank counts as slow when it computes so many times as long as the median, three times in a row. Default 1.5. */
  readonly slowFactor?: number;
  /** A step that takes longer, in ms, is a stall. Default 120,000. */
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
