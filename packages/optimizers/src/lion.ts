import { add, mul, type serialization, sign, sub } from '@tensorflow/tfjs-core';
import {
  add_,
  lerp,
  lerp_,
  momentList,
  packedLion,
  sign_,
  type PackedRule,
  type StepChunk,
  type Update,
} from '@acc/kernels/optimizer-steps';
import { MomentOptimizer, STATE_BITS, type StateBitsOption } from './moment-optimizer.js';
import { FRACTION, NON_NEGATIVE, resolveOptions } from './options.js';
import { WEIGHT_DECAY_KINDS, WeightDecay, type WeightDecayOptions } from './weight-decay.js';

export interface LionOptions extends WeightDecayOptions, StateBitsOption {
  /** η; use a value 3 to 10 times smaller than for AdamW. Default 0.0001. */
  readonly learningRate?: number;
  /** β₁, of the direction. Default 0.9. */
  readonly beta1?: number;
  /** β₂, of the momentum. Default 0.99. */
  readonly beta2?: number;
  /** λ; use a value 3 to 10 times larger than for AdamW. Default 0. */
  readonly weightDecay?: number;
}

const DEFAULTS: Required<LionOptions> = {
  learningRate: 0.0001,
  beta1: 0.9,
  beta2: 0.99,
  weightDecay: 0,
  excludeFromWeightDecay: [],
  stateBits: 32,
};

const KINDS = {
  learningRate: NON_NEGATIVE,
  beta1: FRACTION,
  beta2: FRACTION,
  ...WEIGHT_DECAY_KINDS,
  stateBits: STATE_BITS,
};

/**
 * Lion (Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023, program 1):
 *
 *     w ← w - η λ w - η · sign(β₁ m + (1 - β₁) g)
 *     m ← β₂ m + (1 - β₂) g
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function lion(options: LionOptions = {}): Lion {
  return new Lion(options);
}

/** See {@link lion}. */
export class Lion extends MomentOptimizer {
  static readonly className = 'Lion';
  static readonly updatesShards = true;

  readonly #options: Required<LionOptions>;

  constructor(options: LionOptions = {}) {
    const resolved = resolveOptions('lion', options, DEFAULTS, KINDS);
    const { learningRate, stateBits } = resolved;
    super([momentList('m', stateBits, true)], { learningRate, decay: new WeightDecay(resolved) });
    this.#options = resolved;
  }

  protected override updateFloats(chunk: StepChunk): void {
    if (chunk.weights.length === 0) return;
    const { beta1, beta2 } = this.#options;
    const {
      weights: w,
      grads: g,
      state: [m],
    } = chunk;
    this.decay.shrink(chunk, this.learningRate);
    using directions = lerp(m, g, 1 - beta1);
    sign_(directions.list);
    add_(w, directions.list, -this.learningRate);
    lerp_(m, g, 1 - beta2);
  }

  protected override updateFloat({ variable: w, grad: g, state: [m] }: Update): void {
    const { beta1, beta2 } = this.#options;
    const direction = sign(add(mul(m!, beta1), mul(g, 1 - beta1)));
    const kept = 1 - this.learningRate * this.decay.of(w.name);
    w.assign(sub(mul(w, kept), mul(direction, this.learningRate)));
    m!.assign(add(mul(m!, beta2), mul(g, 1 - beta2)));
  }

  protected override packedRule(weightDecay: number): PackedRule {
    return packedLion({ ...this.#options, learningRate: this.learningRate, weightDecay });
  }

  override getConfig(): serialization.ConfigDict {
    const { beta1, beta2, stateBits } = this.#options;
    return { learningRate: this.learningRate, beta1, beta2, ...this.decay.toConfig('lion'), stateBits };
  }
}
