import * as z from 'zod';

export interface GenerateOptions {
  /**
   * The number of tokens to add to each prompt. Fewer, if all prompts reach `eosToken`. 0 returns the
   * prompts.
   */
  readonly maxNewTokens: number;
  /**
   * Divides the logits. 0 takes the most probable token, whatever `topK`, `topP` and `seed` are. Default
   * 1 if another option draws.
   */
  readonly temperature?: number;
  /** Draws among this many most probable tokens; among all, if the vocabulary has fewer. Default: all. */
  readonly topK?: number;
  /**
   * Draws among the fewest most probable tokens whose probabilities add up to this (Holtzman et al.
   * 2020). Default 1: all.
   */
  readonly topP?: number;
  /**
   * Fixes what is drawn. Default: other tokens in each call, the same on ranks that have parts of one
   * model.
   */
  readonly seed?: number;
  /** Ends a prompt's text. The rest of its row is filled with it. Default none. */
  readonly eosToken?: number;
  /**
   * Whether keys and values of positions are kept, so that a step computes one position. False
   * computes all positions in each step, with any model. Default true.
   */
  readonly useCache?: boolean;
}

const token = z.number().int().nonnegative();
export const generateSchema = z.object({
  maxNewTokens: z.number().int().nonnegative(),
  temperature: z.number().nonnegative().optional(),
  topK: z.number().int().positive().optional(),
  topP: z.number().positive().max(1).optional(),
  seed: z.number().int().optional(),
  eosToken: token.optional(),
  useCache: z.boolean().default(true),
});

export type GenerateSettings = z.output<typeof generateSchema>;

/** Whether the most probable token is taken: nothing asks for a draw, or the temperature is 0. */
export function isGreedy({ temperature, topK, topP, seed }: GenerateSettings): boolean {
  if (temperature !== undefined) return temperature === 0;
  return topK === undefined && topP === undefined && seed === undefined;
}
