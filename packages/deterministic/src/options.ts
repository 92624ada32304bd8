import { AccError, parseOptions } from '@acc/contract';
import * as z from 'zod';

export interface DeterministicOptions {
  /**
   * The number of shards into which the batch of all ranks is divided. It must be a power of two
   * and a multiple of the number of ranks. Weights depend on it. Default 4.
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

/** @throws AccError `ACC_INVALID_OPTION` unless every rank gets the same number of virtual shards. */
export function requireShards({ virtualShards }: ResolvedDeterministicOptions, size: number): void {
  if (virtualShards % size === 0) return;
  throw new AccError(
    'ACC_INVALID_OPTION',
    `deterministic: ${virtualShards} virtual shards cannot be divided equally among ${size} ranks.`,
    {
      help: `Start 1, 2, 4, … or ${virtualShards} ranks. Or set deterministic: { virtualShards } to a larger power of two, in every run that must give the same weights.`,
      details: { size, virtualShards },
    },
  );
}
