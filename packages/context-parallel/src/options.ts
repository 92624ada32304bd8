import { parseOptions } from '@acc/contract';
import * as z from 'zod';

export interface ContextOptions {
  /**
   * How ranks compute attention together. `ring`: keys and values travel from rank to rank. `heads`:
   * for attention, ranks exchange shards of sequences for whole sequences of some heads; their number
   * must divide the numbers of heads. Default `auto`: `heads` where it divides them, else `ring`.
   */
  readonly attention?: 'auto' | 'ring' | 'heads';
}

const schema = z.object({ attention: z.enum(['auto', 'ring', 'heads']).default('auto') });

export type ResolvedContextOptions = Readonly<z.infer<typeof schema>>;

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveContextOptions(options: ContextOptions = {}): ResolvedContextOptions {
  return parseOptions('context', schema, options);
}
