import {
  add,
  div,
  greater,
  mul,
  type serialization,
  sqrt,
  sub,
  where,
  zerosLike,
} from '@tensorflow/tfjs-core';
import { adamDirection } from './adam-direction.js';
import { adamStep, SlotOptimizer, type StepChunk, type Update } from '@acc/kernels/optimizer-steps';
import { frozenAdamStep } from './lists/frozen-adam-step.js';
import { COUNT, FRACTION, NON_NEGATIVE, resolveOptions } from './options.js';

export interface OneBitAdamOptions {
  /** η. Default 0.001. */
  readonly learningRate?: number;
  /** β₁, equal to `momentum` of the hook. Default 0.9. */
  readonly beta1?: number;
  /** β₂. Default 0.999. */
  readonly beta2?: number;
  /** ε, added outside the root. Default 1e-8. */
  readonly epsilon?: number;
  /**
   * The number of steps of plain Adam, equal to that of the hook. The variance does not change
   * after them. Default 100.
   */
  readonly warmupSteps?: number;
}

const DEFAULTS: Required<OneBitAdamOptions> = {
  learningRate: 0.001,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  warmupSteps: 100,
};

const KINDS = {
  learningRate: NON_NEGATIVE,
  beta1: FRACTION,
  beta2: FRACTION,
  epsilon: NON_NEGATIVE,
  warmupSteps: COUNT,
};

/**
 * Adam whose variance freezes after T = `warmupSteps` steps. From then on a step is linear in the
 * momentum, so the momentum can be sent compressed (Tang et al., "1-bit Adam", 2021, algorithm 1).
 * Use it with the communication hook `oneBit`, with the same β₁ and T; without the hook it is Adam
 * with a frozen variance. In step t, with s = min(t, T):
 *
 *     m ← β₁ m + (1 - β₁) g        v ← β₂ v + (1 - β₂) g², while t ≤ T
 *     w ← w - η · (m / (1 - β₁ᵗ)) / (√(v / (1 - β₂ˢ)) + ε)
 *
 * Weights whose gradient was zero in all of the first T steps have variance 0. They do not change
 * after step T.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function oneBitAdam(options: OneBitAdamOptions = {}): OneBitAdam {
  return new OneBitAdam(options);
}

/** See {@link oneBitAdam}. */
export class OneBitAdam extends SlotOptimizer {
  static readonly className = 'OneBitAdam';
  static readonly updatesShards = true;

  readonly #options: Required<OneBitAdamOptions>;

  constructor(options: OneBitAdamOptions = {}) {
    const resolved = resolveOptions('oneBitAdam', options, DEFAULTS, KINDS);
    super(
      ['m', 'v'].map((suffix) => ({ slots: [], suffix, initial: zerosLike })),
      resolved.learningRate,
    );
    this.#options = resolved;
  }

  protected override updateChunk(chunk: StepChunk): void {
    const constants = { ...this.#options, learningRate: this.learningRate, step: this.step };
    if (this.step <= this.#options.warmupSteps) adamStep(chunk, constants);
    else frozenAdamStep(chunk, constants);
  }

  protected override updateOne(update: Update): void {
    const { beta1, beta2, epsilon, warmupSteps } = this.#options;
    const { step, learningRate } = this;
    const { variable: w, grad, state } = update;
    const [m, v] = state as [Update['variable'], Update['variable']];
    if (step <= warmupSteps) {
      w.assign(sub(w, mul(adamDirection(update, { ...this.#options, step }), learningRate)));
      return;
    }
    m.assign(add(mul(m, beta1), mul(grad, 1 - beta1)));
    const denominator = add(sqrt(div(v, 1 - beta2 ** warmupSteps)), epsilon);
    const direction = where(greater(v, 0), div(div(m, 1 - beta1 ** step), denominator), zerosLike(m));
    w.assign(sub(w, mul(direction, learningRate)));
  }

  override getConfig(): serialization.ConfigDict {
    return { ...this.#options, learningRate: this.learningRate };
  }
}
