import { tensor1d, tidy } from '@tensorflow/tfjs-core';
import { AccError, FACTOR_ROLES, valuesOf, type Collective } from '@acc/contract';
import * as z from 'zod';
import type { ResolvedLossScaleOptions } from './options.js';

const scalerState = z.object({
  scale: z.number().positive(),
  goodSteps: z.number().int().nonnegative(),
  patience: z.number().int().nonnegative(),
});

export type LossScalerState = Readonly<z.infer<typeof scalerState>>;

const amaxes = z.array(
  z.object({
    name: z.string(),
    rows: z.array(z.array(z.number().nonnegative())).length(FACTOR_ROLES.length),
  }),
);

const pluginState = z.object({ lossScale: scalerState.nullable(), amaxes: amaxes.optional() });

/** Validates the state of mixed precision in a checkpoint. @throws AccError `ACC_STATE_INVALID`. */
export function stateSchema(state: unknown): z.infer<typeof pluginState> {
  const result = pluginState.safeParse(state);
  if (result.success) return result.data;
  throw new AccError('ACC_STATE_INVALID', 'This value is not a state of mixed precision.', {
    help: 'Load another checkpoint: this one was changed.',
    cause: result.error,
  });
}

/**
 * The factor by which losses are multiplied, so that small gradients can be represented in float16
 * (Micikevicius et al. 2018, section 3.2). It grows while gradients are finite, and shrinks after
 * gradients that are not; a static scale does neither. Every rank gets the same answer about the gradients of all ranks, so the
 * scales of all ranks stay equal. Ranks may have different scales while each trains alone;
 * gradients are summed without the scale.
 */
export class LossScaler {
  #state: LossScalerState;

  constructor(private readonly options: ResolvedLossScaleOptions) {
    this.#state = { scale: options.initial, goodSteps: 0, patience: options.hysteresis };
  }

  get scale(): number {
    return this.#state.scale;
  }

  /** Called after the gradients of a step. */
  update(isFinite: boolean): void {
    if (!this.options.dynamic) return;
    const { growthFactor, growthInterval, backoffFactor, hysteresis, minimum } = this.options;
    const { scale, goodSteps, patience } = this.#state;
    if (!isFinite) {
      const isOver = patience <= 1;
      this.#state = {
        // A checkpoint of a run with a smaller `minimum` may hold a scale below this run's minimum.
        scale: isOver ? Math.max(scale * backoffFactor, Math.min(scale, minimum)) : scale,
        goodSteps: 0,
        patience: isOver ? 0 : patience - 1,
      };
    } else if (goodSteps + 1 >= growthInterval) {
      const grown = scale * growthFactor;
      // A larger scale would overflow in float32, the type of the gradients.
      this.#state = { scale: grown < MAX_SCALE ? grown : scale, goodSteps: 0, patience: hysteresis };
    } else {
      this.#state = { scale, goodSteps: goodSteps + 1, patience };
    }
  }

  /**
   * Sets the scale of every rank to the smallest of all ranks, so that it suits the gradients of
   * each.
   */
  rejoin(collective: Collective): void {
    const { scale, goodSteps, patience } = this.#state;
    const least = valuesOf(tidy(() => collective.allReduce(tensor1d([scale, goodSteps, patience]), 'min')));
    this.#state = { scale: least[0]!, goodSteps: least[1]!, patience: least[2]! };
  }

  getState(): LossScalerState {
    return this.#state;
  }

  /** A static scale is that of the options, whatever a checkpoint has. */
  setState(state: LossScalerState): void {
    if (this.options.dynamic) this.#state = state;
  }
}

const MAX_SCALE = 2 ** 100;
