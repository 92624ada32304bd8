import {
  add,
  div,
  greater,
  logicalAnd,
  mul,
  norm,
  scalar,
  sub,
  where,
  zerosLike,
  type serialization,
  type Tensor,
} from '@tensorflow/tfjs-core';
import { adamDirection } from './adam-direction.js';
import * as lists from './fused/foreach.js';
import { selected, type StepChunk } from './fused/native-step.js';
import { norms, ratiosOrOne, scaleEach_ } from './fused/norms.js';
import { filterToConfig, NAME_FILTER, nameTest, type NameFilter } from './name-filter.js';
import { FRACTION, NON_NEGATIVE, resolveOptions } from './options.js';
import { SlotOptimizer } from './slot-optimizer.js';
import type { Update } from './slots.js';
import { WEIGHT_DECAY_KINDS, WeightDecay, type WeightDecayOptions } from './weight-decay.js';

export interface LambOptions extends WeightDecayOptions {
  /** η. Default 0.001. */
  readonly learningRate?: number;
  /** β₁. Default 0.9. */
  readonly beta1?: number;
  /** β₂. Default 0.999. */
  readonly beta2?: number;
  /** ε, added outside the root. Default 1e-6. */
  readonly epsilon?: number;
  /** λ. Default 0.01. */
  readonly weightDecay?: number;
  /** Variables whose step is not scaled by the ratio of norms. Default none. */
  readonly excludeFromLayerAdaptation?: NameFilter;
}

const DEFAULTS: Required<LambOptions> = {
  learningRate: 0.001,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-6,
  weightDecay: 0.01,
  excludeFromWeightDecay: [],
  excludeFromLayerAdaptation: [],
};

const KINDS = {
  learningRate: NON_NEGATIVE,
  beta1: FRACTION,
  beta2: FRACTION,
  epsilon: NON_NEGATIVE,
  ...WEIGHT_DECAY_KINDS,
  excludeFromLayerAdaptation: NAME_FILTER,
};

/**
 * LAMB, for large batches (You et al., "Large Batch Optimization for Deep Learning: Training BERT
 * in 76 minutes", 2020, algorithm 2), with φ(x) = x:
 *
 *     m ← β₁ m + (1 - β₁) g        v ← β₂ v + (1 - β₂) g²
 *     u = (m / (1 - β₁ᵗ)) / (√(v / (1 - β₂ᵗ)) + ε) + λ w
 *     w ← w - η · (‖w‖ / ‖u‖) · u,   where the ratio is 1 if a norm is 0
 *
 * Norms are computed for each variable separately.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function lamb(options: LambOptions = {}): Lamb {
  return new Lamb(options);
}

/** See {@link lamb}. */
export class Lamb extends SlotOptimizer {
  static readonly className = 'Lamb';

  readonly #options: Required<LambOptions>;
  readonly #decay: WeightDecay;
  readonly #isUnadapted: (name: string) => boolean;

  constructor(options: LambOptions = {}) {
    const resolved = resolveOptions('lamb', options, DEFAULTS, KINDS);
    super(
      ['m', 'v'].map((suffix) => ({ slots: [], suffix, initial: zerosLike })),
      resolved.learningRate,
    );
    this.#options = resolved;
    this.#decay = new WeightDecay(resolved);
    this.#isUnadapted = nameTest(resolved.excludeFromLayerAdaptation);
  }

  protected override updateChunk(chunk: StepChunk): void {
    const { beta1, beta2, epsilon } = this.#options;
    const {
      weights: w,
      grads: g,
      state: [m, v],
    } = chunk;
    lists.lerp_(m, g, 1 - beta1);
    lists.scale_(v, beta2);
    lists.addcmul_(v, g, g, 1 - beta2);
    using denominators = lists.scale(v, 1 / (1 - beta2 ** this.step));
    lists.sqrt_(denominators.list);
    lists.addScalar_(denominators.list, epsilon);
    using directions = lists.div(m, denominators.list);
    lists.scale_(directions.list, 1 / (1 - beta1 ** this.step));

    const directed: StepChunk = { ...chunk, state: [directions.list] };
    const { decaying } = this.#decay.split(directed);
    if (decaying.weights.length > 0) lists.add_(decaying.state[0], decaying.weights, this.#decay.rate);
    const adapted = selected(directed, (name) => !this.#isUnadapted(name));
    if (adapted.weights.length > 0) adapt(adapted.weights, adapted.state[0]!);
    lists.add_(w, directions.list, -this.learningRate);
  }

  protected override updateOne(update: Update): void {
    const { variable: w } = update;
    const adam = adamDirection(update, { ...this.#options, step: this.step });
    const direction = add(adam, mul(w, this.#decay.of(w.name)));
    const ratio = this.#isUnadapted(w.name) ? scalar(1) : ratioOrOne(norm(w), norm(direction));
    w.assign(sub(w, mul(direction, mul(ratio, this.learningRate))));
  }

  override getConfig(): serialization.ConfigDict {
    const { beta1, beta2, epsilon, excludeFromLayerAdaptation } = this.#options;
    return {
      learningRate: this.learningRate,
      beta1,
      beta2,
      epsilon,
      ...this.#decay.toConfig('lamb'),
      excludeFromLayerAdaptation: filterToConfig(
        'lamb.excludeFromLayerAdaptation',
        excludeFromLayerAdaptation,
      ),
    };
  }
}

/** u ← ‖w‖ / ‖u‖ · u */
function adapt(weights: lists.TensorList, directions: lists.TensorList): void {
  using weightNorms = norms(weights);
  using directionNorms = norms(directions);
  using ratios = ratiosOrOne(weightNorms, directionNorms);
  scaleEach_(directions, ratios);
}

function ratioOrOne(a: Tensor, b: Tensor): Tensor {
  return where(logicalAnd(greater(a, 0), greater(b, 0)), div(a, b), scalar(1));
}
