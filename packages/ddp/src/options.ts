import { AccError, checkKeys } from '@acc/contract';
import { z } from 'zod';

export interface DdpOptions {
  /** Gradients are all-reduced in buckets of about this many bytes. Default 25 MiB, as PyTorch's. */
  readonly bucketBytes?: number;
  /** How long a collective may take before it is an error, in milliseconds. Default 300,000. */
  readonly timeoutMs?: number;
  /**
   * What moves the bytes between ranks: `shm` is shared memory, for ranks of one host, `gloo` sockets. Default: what
   * `ACC_COLLECTIVE_ENGINE` says, else `auto`, which takes shared memory where every rank reaches it.
   */
  readonly engine?: 'auto' | 'shm' | 'gloo';
}

const schema = z.object({
  bucketBytes: z
    .number()
    .int()
    .positive()
    .default(25 * 1024 * 1024),
  timeoutMs: z.number().int().positive().default(300_000),
  engine: z.enum(['auto', 'shm', 'gloo']).optional(),
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
