import { add, mul, type serialization, sub } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import {
  momentList,
  momentumStep,
  packedMomentum,
  plainSgdStep,
  type PackedRule,
  type StepChunk,
  type Update,
} from '@acc/kernels/optimizer-steps';
import { MomentOptimizer, STATE_BITS, type StateBitsOption } from './moment-optimizer.js';
import { BOOLEAN, FRACTION, NON_NEGATIVE, resolveOptions } from './options.js';
import { WEIGHT_DECAY_KINDS, WeightDecay, type WeightDecayOptions } from './weight-decay.js';

export interface SgdWOptions extends WeightDecayOptions, StateBitsOption {
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
  stateBits: 32,
};

const KINDS = {
  learningRate: NON_NEGATIVE,
  momentum: FRACTION,
  nesterov: BOOLEAN,
  ...WEIGHT_DECAY_KINDS,
  stateBits: STATE_BITS,
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
export class SgdW extends MomentOptimizer {
  static readonly className = 'SGDW';
  static readonly updatesShards = true;

  readonly #options: Required<SgdWOptions>;

  constructor(options: SgdWOptions = {}) {
    const resolved = resolveOptions('sgdw', options, DEFAULTS, KINDS);
    const { learningRate, momentum, stateBits } = resolved;
    if (momentum === 0 && stateBits < 32) throw withoutState(stateBits);
    super(momentum > 0 ? [momentList('momentum', stateBits, true)] : [], {
      learningRate,
      decay: new WeightDecay(resolved),
    });
    this.#options = resolved;
  }

  /** The options that do not change. For kernel layers. */
  get settings(): Readonly<Required<SgdWOptions>> {
    return this.#options;
  }

  protected override updateFloats(chunk: StepChunk): void {
    if (chunk.weights.length === 0) return;
    const { learningRate } = this;
    const { momentum, nesterov } = this.#options;
    this.decay.shrink(chunk, learningRate);
    if (momentum > 0) momentumStep(chunk, { learningRate, momentum, nesterov });
    else plainSgdStep(chunk, learningRate);
  }

  protected override updateFloat({ variable: w, grad: g, state: [a] }: Update): void {
    const { momentum, nesterov } = this.#options;
    if (a) a.assign(add(mul(a, momentum), g));
    const direction = a ? (nesterov ? add(g, mul(a, momentum)) : a) : g;
    const kept = 1 - this.learningRate * this.decay.of(w.name);
    w.assign(sub(mul(w, kept), mul(direction, this.learningRate)));
  }

  protected override packedRule(weightDecay: number): PackedRule {
    return packedMomentum({ ...this.#options, learningRate: this.learningRate, weightDecay });
  }

  override getConfig(): serialization.ConfigDict {
    const { learningRate } = this;
    const { momentum, nesterov, stateBits } = this.#options;
    return { learningRate, momentum, nesterov, ...this.decay.toConfig('sgdw'), stateBits };
  }
}

function withoutState(stateBits: number): AccError {
  return new AccError(
    'ACC_INVALID_OPTION',
    `sgdw: stateBits is ${stateBits}, but without momentum there is no state.`,
    { help: 'Leave out stateBits, or give a momentum above 0.' },
  );
}
