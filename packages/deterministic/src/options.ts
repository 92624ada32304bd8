import { AccError, parseOptions } from '@acc/contract';
import { z } from 'zod';

export interface DeterministicOptions {
  /**
   * Into how many pieces the batch of all ranks is divided, a power of two; the number of ranks divides it. Weights depend on it.
   * Default 4.
   */
  readonly virtualShards?: number;
}

const schema = z.object({
  virtualShards: z
    .number()
    .int()
    .positive()
    .refine((count) => Number.isInteger(Math.log2(count)), 'a power of two')
    .default(4),
});

export type ResolvedDeterministicOptions = Readonly<z.infer<typeof schema>>;

/** Options with their defaults. @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveDeterministicOptions(
  options: DeterministicOptions = {},
): ResolvedDeterministicOptions {
  return parseOptions('deterministic', schema, options);
}

/** @throws AccError `ACC_INVALID_OPTION` unless each rank gets as many of the virtual shards. */
export function requireShards({ virtualShards }: ResolvedDeterministicOptions, size: number): void {
  if (virtualShards % size === 0) return;
  throw new AccError(
    'ACC_INVALID_OPTION',
    `deterministic: ${size} ranks cannot share ${virtualShards} virtual shards equally.`,
    {
      help: `Start 1, 2, 4, … or ${virtualShards} ranks, or choose deterministic: { virtualShards } as a larger power of two, on every run that is to give the same weights.`,
      details: { size, virtualShards },
    },
  );
}
