import {
  add,
  div,
  expandDims,
  maximum,
  mean,
  mul,
  reshape,
  sqrt,
  square,
  sub,
  tidy,
  util,
  zeros,
  type serialization,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import {
  isFactored,
  rootOfShard,
  fullSquares,
  fullSumsOf,
  type ShardUpdate,
  type FullSums,
} from './adafactor-shards.js';
import { directionsOf, scaleDirections, type AdafactorRates } from './lists/adafactor-step.js';
import {
  inGroups,
  lerp_,
  shardedUpdate,
  SlotOptimizer,
  sub_,
  type ShardedUpdate,
  type SlotList,
  type StepChunk,
  type Update,
} from '@acc/kernels/optimizer-steps';
import { BOOLEAN, FRACTION, NON_NEGATIVE, POSITIVE, resolveOptions } from './options.js';
import { WEIGHT_DECAY_KINDS, WeightDecay, type WeightDecayOptions } from './weight-decay.js';

export interface AdafactorOptions extends WeightDecayOptions {
  /** η: the largest step, relative to the weights with `scaleParameter`. Default 0.01. */
  readonly learningRate?: number;
  /** Steps shrink as 1/√t once 1/√t is below the learning rate. Default true. */
  readonly relativeStep?: boolean;
  /** Steps are relative to the root mean square of each variable. Default true. */
  readonly scaleParameter?: boolean;
  /**
   * β₁ of the momentum, whose state takes as much memory as the weights. Default 0: no momentum.
   */
  readonly beta1?: number;
  /** c of β₂ = 1 - t^-c. Default 0.8. */
  readonly decayExponent?: number;
  /** d: the largest root mean square of an update; larger updates are scaled down. Default 1. */
  readonly clipThreshold?: number;
  /** ε₁, added to g². Default 1e-30. */
  readonly epsilon1?: number;
  /** ε₂: the lower bound of a variable's root mean square. Default 0.001. */
  readonly epsilon2?: number;
  /** λ. Default 0. */
  readonly weightDecay?: number;
}

const DEFAULTS: Required<AdafactorOptions> = {
  learningRate: 0.01,
  relativeStep: true,
  scaleParameter: true,
  beta1: 0,
  decayExponent: 0.8,
  clipThreshold: 1,
  epsilon1: 1e-30,
  epsilon2: 0.001,
  weightDecay: 0,
  excludeFromWeightDecay: [],
};

const KINDS = {
  learningRate: NON_NEGATIVE,
  relativeStep: BOOLEAN,
  scaleParameter: BOOLEAN,
  beta1: FRACTION,
  decayExponent: POSITIVE,
  clipThreshold: POSITIVE,
  epsilon1: POSITIVE,
  epsilon2: NON_NEGATIVE,
  ...WEIGHT_DECAY_KINDS,
};

/**
 * Adafactor (Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost",
 * 2018, algorithms 4 to 6). For a variable with two dims or more it does not keep the second moment
 * itself, but its means r over the last dim and c over the dim before. For a matrix of n rows and m
 * columns these are n + m numbers:
 *
 *     β₂ = 1 - t^-c        ρ = min(η, 1/√t)        α = max(ε₂, RMS(w)) · ρ
 *     r ← β₂ r + (1 - β₂) mean(g² + ε₁, last dim)        c ← β₂ c + (1 - β₂) mean(g² + ε₁, dim before)
 *     v = r ⊗ c / mean(r)        u = g / √v        û = u / max(1, RMS(u) / d)
 *     w ← w - ρ λ w - α û,   with momentum   m ← β₁ m + (1 - β₁) α û and w ← w - ρ λ w - m
 *
 * For vectors and scalars, v ← β₂ v + (1 - β₂) (g² + ε₁) itself is kept, in the state of r.
 *
 * Where ranks hold shards of weights, every rank keeps whole r and c, which are small, and its shard
 * of m and of the v of vectors. A step takes two sums over ranks: of the parts of the means and of
 * w², and of u².
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function adafactor(options: AdafactorOptions = {}): Adafactor {
  return new Adafactor(options);
}

/** See {@link adafactor}. */
export class Adafactor extends SlotOptimizer {
  static readonly className = 'Adafactor';
  static readonly updatesShards = true;

  readonly #options: Required<AdafactorOptions>;
  readonly #decay: WeightDecay;

  constructor(options: AdafactorOptions = {}) {
    const resolved = resolveOptions('adafactor', options, DEFAULTS, KINDS);
    const lists = [slotList('r', rowShape, isFactored), slotList('c', columnShape, () => true)];
    if (resolved.beta1 > 0) lists.push(slotList('m', ({ shape }) => shape));
    super(lists, resolved.learningRate);
    this.#options = resolved;
    this.#decay = new WeightDecay(resolved);
  }

  protected override updateChunk(chunk: StepChunk): void {
    const { beta1 } = this.#options;
    const {
      weights: w,
      state: [, , m],
    } = chunk;
    const rates = this.#rates();
    using directions = directionsOf(chunk, rates);
    scaleDirections(w, directions.list, rates);
    this.#decay.shrink(chunk, rates.rho);
    if (m) lerp_(m, directions.list, 1 - beta1);
    sub_(w, m ?? directions.list);
  }

  protected override updateOne(update: Update): void {
    const { grad: g, variable: w, state } = update;
    const [r, c] = state as [Variable, Variable];
    const rates = this.#rates();
    const u = div(g, rootOfSecondMoment(g, r, c, rates));
    this.#move(update, u, [rms(u), rms(w)]);
  }

  protected override takeStep(updates: readonly Update[]): void {
    const sharded = shardedUpdate();
    if (sharded) inGroups(updates, (some) => this.#updateSharded(some, sharded));
    else super.takeStep(updates);
  }

  #updateSharded(updates: readonly Update[], sharded: ShardedUpdate): void {
    const shards: ShardUpdate[] = [];
    for (const update of updates) {
      const range = sharded.shardOf(update.variable.name);
      if (range) shards.push({ update, range });
      else tidy(() => this.updateOne(update));
    }
    // Ranks update the same variables, so all of them have none.
    if (shards.length > 0) tidy(() => this.#updateShards(shards, sharded));
  }

  /** Every rank calls it with the same variables, also one that has no elements of some. */
  #updateShards(shards: readonly ShardUpdate[], sharded: ShardedUpdate): void {
    const rates = this.#rates();
    const squaresOf = ({ grad }: Update) => add(square(grad), rates.epsilon1);
    const sums = fullSumsOf(shards, squaresOf, sharded);
    const directions = shards.map((each, i) => tidy(() => directionOfShard(each, sums[i]!, rates)));
    const directionSquares = fullSquares(directions, sharded);
    shards.forEach(({ update, range: { shape } }, i) => {
      if (update.variable.size === 0) return;
      const rmsOf = (squares: Tensor) => sqrt(div(squares, util.sizeFromShape([...shape])));
      const sizes = [rmsOf(directionSquares[i]!), rmsOf(reshape(sums[i]!.weightSquares, []))] as const;
      tidy(() => this.#move(update, directions[i]!, sizes));
    });
  }

  /** Changes a weight by its direction u. Called in a tidy. */
  #move(
    { variable: w, state: [, , m] }: Update,
    u: Tensor,
    [rmsOfDirection, rmsOfWeight]: readonly [Tensor, Tensor],
  ): void {
    const { beta1 } = this.#options;
    const rates = this.#rates();
    const clip = maximum(div(rmsOfDirection, rates.clipThreshold), 1);
    const scale = rates.scaleParameter ? maximum(rmsOfWeight, rates.epsilon2) : 1;
    const change = mul(u, div(mul(scale, rates.rho), clip));
    if (m) m.assign(add(mul(m, beta1), mul(change, 1 - beta1)));
    w.assign(sub(mul(w, 1 - rates.rho * this.#decay.of(w.name)), m ?? change));
  }

  override getConfig(): serialization.ConfigDict {
    return { ...this.#options, learningRate: this.learningRate, ...this.#decay.toConfig('adafactor') };
  }

  #rates(): AdafactorRates {
    const { relativeStep, decayExponent } = this.#options;
    const rho = relativeStep ? Math.min(this.learningRate, 1 / Math.sqrt(this.step)) : this.learningRate;
    return { ...this.#options, rho, beta2: 1 - this.step ** -decayExponent };
  }
}

/** The shape of a weight, which may be larger than what this rank holds of it. */
const wholeShape = ({ name, shape }: Variable): readonly number[] =>
  shardedUpdate()?.shardOf(name)?.shape ?? shape;

function rowShape(variable: Variable): readonly number[] {
  const shape = wholeShape(variable);
  return isFactored({ shape }) ? shape.slice(0, -1) : variable.shape;
}

/** The shape of c; an unused scalar for variables with fewer than two dims. */
function columnShape(variable: Variable): readonly number[] {
  const shape = wholeShape(variable);
  return isFactored({ shape }) ? [...shape.slice(0, -2), ...shape.slice(-1)] : [];
}

function slotList(
  suffix: string,
  shapeFor: (variable: Variable) => readonly number[],
  isWhole: SlotList['isWhole'] = () => false,
): SlotList {
  return { slots: [], suffix, shapeFor, isWhole, initial: (variable) => zeros([...shapeFor(variable)]) };
}

/** Assigns β₂ · old + (1 − β₂) · values. */
function mixInto(old: Variable, values: Tensor, beta2: number): void {
  old.assign(add(mul(old, beta2), mul(values, 1 - beta2)));
}

/** Updates r and c of a shard; returns u = g / √v of this rank's elements. */
function directionOfShard(
  { update: { grad: g, state }, range }: ShardUpdate,
  { means }: FullSums,
  { beta2, epsilon1 }: AdafactorRates,
): Tensor {
  const [r, c] = state as [Variable, Variable];
  if (!means) {
    if (g.size === 0) return g.clone();
    mixInto(r, add(square(g), epsilon1), beta2);
    return div(g, sqrt(r));
  }
  mixInto(r, reshape(means[0], r.shape), beta2);
  mixInto(c, reshape(means[1], c.shape), beta2);
  return g.size === 0 ? g.clone() : div(g, rootOfShard(r, c, range));
}

/** Updates r and c with the gradient; returns √v. */
function rootOfSecondMoment(
  g: Tensor,
  r: Variable,
  c: Variable,
  { beta2, epsilon1 }: AdafactorRates,
): Tensor {
  const squares = add(square(g), epsilon1);
  if (g.rank < 2) {
    mixInto(r, squares, beta2);
    return sqrt(r);
  }
  mixInto(r, mean(squares, -1), beta2);
  mixInto(c, mean(squares, -2), beta2);
  const rows = sqrt(div(r, mean(r, -1, true)));
  return mul(expandDims(rows, -1), expandDims(sqrt(c), -2));
}

/** The root mean square of all elements. */
const rms = (x: Tensor): Tensor => sqrt(mean(square(x)));
