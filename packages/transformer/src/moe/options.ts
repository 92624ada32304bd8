import { AccError } from '@acc/contract';
import * as z from 'zod';
import { activationSchema, type ActivationName } from '../layers/activations.js';
import { PROJECTIONS } from '../layers/composite.js';
import type { LayerArgs } from '../layers/layer-args.js';

/** How tokens go to experts. */
export interface MoeOptions {
  /** The number of experts. */
  readonly experts: number;
  /** The experts of each token. Default 2. */
  readonly topK?: number;
  /**
   * The most tokens of a call that an expert takes, in equal shares: 1.25 leaves a quarter of room.
   * Tokens beyond pass by: the layer gives 0 for them. Default: none is dropped.
   */
  readonly capacityFactor?: number;
  /**
   * Whether the weights of a token's experts are divided by their sum. Default: if `topK` is above 1.
   * With one expert a token, the quotient would be 1, and the router would not learn from the task.
   */
  readonly normalizeGates?: boolean;
  /** In training, the router's input is multiplied by random numbers from 1 - jitter to 1 + jitter. Default 0. */
  readonly jitter?: number;
  /** The factor of the load-balancing loss. Default 0.01. */
  readonly balanceLoss?: number;
  /** The factor of the loss that keeps the router's logits small. Default 0.001. */
  readonly zLoss?: number;
  /** The number of experts that every token goes to, besides its `topK`. Default 0. */
  readonly sharedExperts?: number;
}

export interface MoeArgs extends MoeOptions, LayerArgs {
  /** The kind of each expert: `feedForward` or `swiGlu`. Default `gelu`. */
  readonly mlp?: 'gelu' | 'swiGlu';
  /** Of `feedForward`. Default `gelu_new`. */
  readonly activation?: ActivationName;
  /** The width within an expert. Default: 4 times that of the input. */
  readonly innerUnits?: number;
  /** Whether the projections of experts have biases. Default true, and false with `swiGlu`. */
  readonly useBias?: boolean;
  /** The standard deviation of the projections' first values. Default: those of `dense`. */
  readonly initializerRange?: number;
  /** The same for the projections of the output. Default `initializerRange`. */
  readonly outputInitializerRange?: number;
}

const factor = (byDefault: number) => z.number().nonnegative().default(byDefault);

export const MOE_OPTIONS = {
  experts: z.number().int().positive(),
  topK: z.number().int().positive().default(2),
  capacityFactor: z.number().positive().optional(),
  normalizeGates: z.boolean().optional(),
  jitter: z.number().min(0).lt(1).default(0),
  balanceLoss: factor(0.01),
  zLoss: factor(0.001),
  sharedExperts: z.number().int().nonnegative().default(0),
};

export const MOE = z.object({
  ...MOE_OPTIONS,
  mlp: z.enum(['gelu', 'swiGlu']).default('gelu'),
  activation: activationSchema.optional(),
  innerUnits: z.number().int().positive().optional(),
  useBias: z.boolean().optional(),
  ...PROJECTIONS,
});

export type MoeSettings = z.output<typeof MOE>;

/**
 * Checks the options that depend on each other.
 *
 * @throws AccError `ACC_INVALID_OPTION`.
 */
export function requireChoices({
  experts,
  topK,
  normalizeGates,
}: Pick<MoeSettings, 'experts' | 'topK' | 'normalizeGates'>): void {
  if (topK > experts) throw tooFew(topK, experts);
  if (topK === 1 && normalizeGates && experts > 1) throw constantGates();
}

function tooFew(topK: number, experts: number): AccError {
  return new AccError(
    'ACC_INVALID_OPTION',
    `moe: topK is ${topK}; expected at most experts, which is ${experts}.`,
    {
      help: 'A token goes to topK different experts.',
      details: { topK, experts },
    },
  );
}

function constantGates(): AccError {
  return new AccError(
    'ACC_INVALID_OPTION',
    'moe: normalizeGates divides the only weight of a token by itself, because topK is 1. The gate is then always 1, and the router gets no gradient from the loss.',
    {
      help: 'Leave normalizeGates out, or give topK: 2 or more.',
      details: { topK: 1, normalizeGates: true },
    },
  );
}
