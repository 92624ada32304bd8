import { z } from 'zod';
import { parseOptions } from '@acc/contract';

const count = z.number().int().min(0);

const schema = z.strictObject({
  schedule: z
    .strictObject({
      wait: count.default(0),
      warmup: count.default(1),
      active: count.min(1).default(3),
    })
    .default({ wait: 0, warmup: 1, active: 3 }),
  traceDir: z.string().min(1).optional(),
});

/** Options of `accelerator.profile`. */
export interface ProfileOptions {
  /**
   * The optimizer steps of `fn` that are measured: after `wait` steps that run as usual (default 0) and
   * `warmup` steps that are observed and dropped (default 1), `active` steps (default 3). Later steps
   * run as usual.
   */
  schedule?: { wait?: number; warmup?: number; active?: number };
  /**
   * A folder for the trace of this rank, `trace-rank-<rank>.json`, in the format of Chrome's trace
   * events. Perfetto opens it. It is made if it is missing. Default: no trace.
   */
  traceDir?: string;
}

export type ResolvedProfileOptions = z.output<typeof schema>;

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveProfileOptions(options: ProfileOptions): ResolvedProfileOptions {
  return parseOptions('profile', schema, options);
}
