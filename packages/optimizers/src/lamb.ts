import {
  add,
  concat,
  div,
  greater,
  logicalAnd,
  mul,
  norm,
  reshape,
  scalar,
  slice,
  split,
  stack,
  sub,
  tidy,
  unstack,
  where,
  zeros,
  zerosLike,
  type serialization,
  type Tensor,
} from '@tensorflow/tfjs-core';
import { adamDirection } from './adam-direction.js';
import * as lists from '@acc/kernels/optimizer-steps';
import {
  backendForLists,
  filterToConfig,
  selected,
  shardedUpdate,
  SlotOptimizer,
  fullNorms,
  type NameFilter,
  type StepChunk,
  type Update,
} from '@acc/kernels/optimizer-steps';
import { norms, ratiosOrOne, scaleEach_ } from './lists/norms.js';
import { NAME_FILTER, nameTest } from './name-filter.js';
import { FRACTION, NON_NEGATIVE, resolveOptions } from './options.js';
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
  static readonly updatesShards = true;

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
    using directions = this.#directionsOf(chunk);
    const adapted = this.#adapted({ ...chunk, state: [directions.list] });
    if (adapted.weights.length > 0) adapt(adapted.weights, adapted.state[0]!);
    lists.add_(chunk.weights, directions.list, -this.learningRate);
  }

  protected override updateChunks(chunks: readonly StepChunk[]): void {
    if (!shardedUpdate()) {
      super.updateChunks(chunks);
      return;
    }
    const directions = chunks.map((chunk) => this.#directionsOf(chunk));
    const directed = chunks.map((chunk, i) => ({ ...chunk, state: [directions[i]!.list] }));
    adaptShards(directed.map((chunk) => this.#adapted(chunk)));
    chunks.forEach(({ weights }, i) => lists.add_(weights, directions[i]!.list, -this.learningRate));
    for (const each of directions) each[Symbol.dispose]();
  }

  #adapted(chunk: StepChunk): StepChunk {
    return selected(chunk, (name) => !this.#isUnadapted(name));
  }

  /** Updates m and v; returns u. Caller disposes. */
  #directionsOf(chunk: StepChunk): lists.Temporaries {
    const { beta1, beta2, epsilon } = this.#options;
    const {
      grads: g,
      state: [m, v],
    } = chunk;
    lists.lerp_(m, g, 1 - beta1);
    lists.scale_(v, beta2);
    lists.addcmul_(v, g, g, 1 - beta2);
    using denominators = lists.scale(v, 1 / (1 - beta2 ** this.step));
    lists.sqrt_(denominators.list);
    lists.addScalar_(denominators.list, epsilon);
    const directions = lists.div(m, denominators.list);
    lists.scale_(directions.list, 1 / (1 - beta1 ** this.step));

    const directed: StepChunk = { ...chunk, state: [directions.list] };
    const { decaying } = this.#decay.split(directed);
    if (decaying.weights.length > 0) lists.add_(decaying.state[0], decaying.weights, this.#decay.rate);
    return directions;
  }

  protected override updateOne(update: Update): void {
    const direction = this.#directionOf(update);
    this.#move(update, direction, () => ratioOrOne(norm(update.variable), norm(direction)));
  }

  protected override updateEach(updates: readonly Update[]): void {
    if (!shardedUpdate()) {
      super.updateEach(updates);
      return;
    }
    tidy(() => {
      const directions = updates.map((update) => this.#directionOf(update));
      const own = [updates.map(({ variable }) => norm(variable)), directions.map((each) => norm(each))];
      const [weights, others] = unstack(
        fullNorms(
          updates.length > 0 ? stack(own.map((norms) => stack(norms))) : zeros([2, 0]),
          updates.map(({ variable }) => variable.name),
        ),
      ) as [Tensor, Tensor];
      updates.forEach((update, i) =>
        this.#move(update, directions[i]!, () => ratioOrOne(slice(weights, i, 1), slice(others, i, 1))),
      );
    });
  }

  /** Updates m and v; returns u. */
  #directionOf(update: Update): Tensor {
    const { variable: w } = update;
    const adam = adamDirection(update, { ...this.#options, step: this.step });
    return add(adam, mul(w, this.#decay.of(w.name)));
  }

  #move({ variable: w }: Update, direction: Tensor, ratioOf: () => Tensor): void {
    const ratio = this.#isUnadapted(w.name) ? scalar(1) : ratioOf();
    w.assign(sub(w, reshape(mul(direction, mul(ratio, this.learningRate)), w.shape)));
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

/** As {@link adapt}, where ranks have shards of the tensors. */
function adaptShards(chunks: readonly StepChunk[]): void {
  const backend = backendForLists()!;
  const filled = chunks.filter(({ weights }) => weights.length > 0);
  tidy(() => {
    const own = filled.map(({ weights, state: [directions] }) =>
      stack([weights, directions!].map((list) => backend.tensorOf(norms(list), 'float32'))),
    );
    const names = filled.flatMap((chunk) => chunk.names);
    const full = fullNorms(own.length > 0 ? concat(own, 1) : zeros([2, 0]), names);
    if (names.length === 0) return;
    const [weights, directions] = unstack(full) as [Tensor, Tensor];
    const ratios = split(
      ratioOrOne(weights, directions),
      filled.map((chunk) => chunk.names.length),
    );
    filled.forEach(({ state: [list] }, i) => scaleEach_(list!, backend.native(ratios[i]!)));
  });
}

function ratioOrOne(a: Tensor, b: Tensor): Tensor {
  return where(logicalAnd(greater(a, 0), greater(b, 0)), div(a, b), scalar(1));
}
