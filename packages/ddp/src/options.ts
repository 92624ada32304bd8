import { AccError, checkKeys } from '@acc/contract';
import { z } from 'zod';

export interface DdpOptions {
  /** Gradients are all-reduced in buckets of about this many bytes. Default 25 MiB, as PyTorch's. */
  readonly bucketBytes?: number;
  /** How long a collective may take before it is an error, in milliseconds. Default 300,000. */
  readonly timeoutMs?: number;
}

const schema = z.object({
  bucketBytes: z
    .number()
    .int()
    .positive()
    .default(25 * 1024 * 1024),
  timeoutMs: z.number().int().positive().default(300_000),
});

export type ResolvedDdpOptions = Readonly<z.infer<typeof schema>>;

/** Options with their defaults. @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveDdpOptions(options: DdpOptions = {}): ResolvedDdpOptions {
  checkKeys('ddp', options, Object.keys(schema.shape));
  const result = schema.safeParse(options);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw new AccError('ACC_INVALID_OPTION', `ddp.${path.join('.')}: ${message}.`, { cause: result.error });
}
