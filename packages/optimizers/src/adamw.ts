import { mul, type serialization, sub } from '@tensorflow/tfjs-core';
import { adamDirection } from './adam-direction.js';
import {
  adamStep,
  momentList,
  packedAdamW,
  type PackedRule,
  type StepChunk,
  type Update,
} from '@acc/kernels/optimizer-steps';
import { MomentOptimizer, STATE_BITS, type StateBitsOption } from './moment-optimizer.js';
import { FRACTION, NON_NEGATIVE, resolveOptions } from './options.js';
import { WEIGHT_DECAY_KINDS, WeightDecay, type WeightDecayOptions } from './weight-decay.js';

export interface AdamWOptions extends WeightDecayOptions, StateBitsOption {
  /** η. Default 0.001. */
  readonly learningRate?: number;
  /** β₁. Default 0.9. */
  readonly beta1?: number;
  /** β₂. Default 0.999. */
  readonly beta2?: number;
  /** ε, added outside the root. Default 1e-8. */
  readonly epsilon?: number;
  /** λ. Default 0.01. */
  readonly weightDecay?: number;
}

const DEFAULTS: Required<AdamWOptions> = {
  learningRate: 0.001,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0.01,
  excludeFromWeightDecay: [],
  stateBits: 32,
};

const KINDS = {
  learningRate: NON_NEGATIVE,
  beta1: FRACTION,
  beta2: FRACTION,
  epsilon: NON_NEGATIVE,
  ...WEIGHT_DECAY_KINDS,
  stateBits: STATE_BITS,
};

/**
 * Adam with decoupled weight decay (Loshchilov and Hutter, "Decoupled Weight Decay Regularization",
 * 2019, algorithm 2), in the form of PyTorch's AdamW:
 *
 *     m ← β₁ m + (1 - β₁) g        v ← β₂ v + (1 - β₂) g²
 *     w ← w - η λ w - η · (m / (1 - β₁ᵗ)) / (√(v / (1 - β₂ᵗ)) + ε)
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function adamw(options: AdamWOptions = {}): AdamW {
  return new AdamW(options);
}

/** See {@link adamw}. */
export class AdamW extends MomentOptimizer {
  static readonly className = 'AdamW';
  static readonly updatesShards = true;

  readonly #options: Required<AdamWOptions>;

  constructor(options: AdamWOptions = {}) {
    const resolved = resolveOptions('adamw', options, DEFAULTS, KINDS);
    const { learningRate, stateBits } = resolved;
    const lists = [momentList('m', stateBits, true), momentList('v', stateBits, false)];
    super(lists, { learningRate, decay: new WeightDecay(resolved) });
    this.#options = resolved;
  }

  /** The options that do not change. For kernel layers. */
  get settings(): Readonly<Required<AdamWOptions>> {
    return this.#options;
  }

  protected override updateFloats(chunk: StepChunk): void {
    const { beta1, beta2, epsilon } = this.#options;
    const constants = { learningRate: this.learningRate, beta1, beta2, epsilon, step: this.step };
    const { decaying, others } = this.decay.split(chunk);
    adamStep(decaying, { ...constants, weightDecay: this.decay.rate });
    adamStep(others, constants);
  }

  protected override updateFloat(update: Update): void {
    const { variable: w } = update;
    const direction = adamDirection(update, { ...this.#options, step: this.step });
    const kept = 1 - this.learningRate * this.decay.of(w.name);
    w.assign(sub(mul(w, kept), mul(direction, this.learningRate)));
  }

  protected override packedRule(weightDecay: number): PackedRule {
    const { learningRate, step } = this;
    return packedAdamW({ ...this.#options, learningRate, weightDecay, step });
  }

  override getConfig(): serialization.ConfigDict {
    const { beta1, beta2, epsilon, stateBits } = this.#options;
    return {
      learningRate: this.learningRate,
      beta1,
      beta2,
      epsilon,
      ...this.decay.toConfig('adamw'),
      stateBits,
    };
  }
}
