import { AccError, checkKeys } from '@acc/contract';
import { z } from 'zod';
import { OP_LISTS, type OpLists } from './op-lists.js';

export interface AmpOptions {
  /** Kernels that also compute in 16 bits, by tfjs's names. */
  readonly lower?: readonly string[];
  /** Kernels that also compute in float32. */
  readonly float32?: readonly string[];
}

const schema = z.object({
  lower: z.array(z.string()).default([]),
  float32: z.array(z.string()).default([]),
});

export type ResolvedAmpOptions = Readonly<z.infer<typeof schema>>;

/** Options with their defaults. @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveAmpOptions(options: AmpOptions = {}): ResolvedAmpOptions {
  checkKeys('amp', options, Object.keys(schema.shape));
  const result = schema.safeParse(options);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw new AccError('ACC_INVALID_OPTION', `amp.${path.join('.')}: ${message}.`, { cause: result.error });
}

/** The lists with what the options add; an added kernel leaves the list that it was in. */
export function listsWith({ lower, float32 }: ResolvedAmpOptions): OpLists {
  const added = new Set([...lower, ...float32]);
  const others = (names: readonly string[]) => names.filter((name) => !added.has(name));
  return {
    lower: [...others(OP_LISTS.lower), ...lower],
    float32: [...others(OP_LISTS.float32), ...float32],
    asGiven: others(OP_LISTS.asGiven),
  };
}
