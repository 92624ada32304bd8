import { add, mul, type serialization, sub, zerosLike } from '@tensorflow/tfjs-core';
import {
  momentumStep,
  plainSgdStep,
  SlotOptimizer,
  type StepChunk,
  type Update,
} from '@acc/kernels/optimizer-steps';
import { BOOLEAN, FRACTION, NON_NEGATIVE, resolveOptions } from './options.js';
import { WEIGHT_DECAY_KINDS, WeightDecay, type WeightDecayOptions } from './weight-decay.js';

export interface SgdWOptions extends WeightDecayOptions {
  /** η. Default 0.01. */
  readonly learningRate?: number;
  /** μ. Default 0: no momentum, no state. */
  readonly momentum?: number;
  /** Whether to use Nesterov momentum. Default false. */
  readonly nesterov?: boolean;
  /** λ. Default 0. */
  readonly weightDecay?: number;
}

const DEFAULTS: Required<SgdWOptions> = {
  learningRate: 0.01,
  momentum: 0,
  nesterov: false,
  weightDecay: 0,
  excludeFromWeightDecay: [],
};

const KINDS = {
  learningRate: NON_NEGATIVE,
  momentum: FRACTION,
  nesterov: BOOLEAN,
  ...WEIGHT_DECAY_KINDS,
};

/**
 * Stochastic gradient descent with momentum, optionally Nesterov momentum (Sutskever et al., "On
 * the importance of initialization and momentum in deep learning", 2013), and decoupled weight
 * decay (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019, algorithm 1):
 *
 *     a ← μ a + g
 *     w ← w - η λ w - η a,   with Nesterov   w ← w - η λ w - η (g + μ a)
 *
 * With λ = 0 the results equal those of `tf.train.sgd` and `tf.train.momentum`. PyTorch's SGD adds
 * λ w to the gradient instead.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function sgdw(options: SgdWOptions = {}): SgdW {
  return new SgdW(options);
}

/** See {@link sgdw}. */
export class SgdW extends SlotOptimizer {
  static readonly className = 'SGDW';
  static readonly updatesShards = true;

  readonly #options: Required<SgdWOptions>;
  readonly #decay: WeightDecay;

  constructor(options: SgdWOptions = {}) {
    const resolved = resolveOptions('sgdw', options, DEFAULTS, KINDS);
    super(
      resolved.momentum > 0 ? [{ slots: [], suffix: 'momentum', initial: zerosLike }] : [],
      resolved.learningRate,
    );
    this.#options = resolved;
    this.#decay = new WeightDecay(resolved);
  }

  /** The options that do not change. For kernel layers. */
  get settings(): Readonly<Required<SgdWOptions>> {
    return this.#options;
  }

  /** λ of the variable with this name. For kernel layers. */
  decayOf(name: string): number {
    return this.#decay.of(name);
  }

  protected override updateChunk(chunk: StepChunk): void {
    const { learningRate } = this;
    const { momentum, nesterov } = this.#options;
    this.#decay.shrink(chunk, learningRate);
    if (momentum > 0) momentumStep(chunk, { learningRate, momentum, nesterov });
    else plainSgdStep(chunk, learningRate);
  }

  protected override updateOne({ variable: w, grad: g, state: [a] }: Update): void {
    const { momentum, nesterov } = this.#options;
    if (a) a.assign(add(mul(a, momentum), g));
    const direction = a ? (nesterov ? add(g, mul(a, momentum)) : a) : g;
    const kept = 1 - this.learningRate * this.#decay.of(w.name);
    w.assign(sub(mul(w, kept), mul(direction, this.learningRate)));
  }

  override getConfig(): serialization.ConfigDict {
    const { momentum, nesterov } = this.#options;
    return { learningRate: this.learningRate, momentum, nesterov, ...this.#decay.toConfig('sgdw') };
  }
}
