import {
  dispose,
  keep,
  square,
  stack,
  sum,
  tensor1d,
  tidy,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import {
  AccError,
  checkKeys,
  valuesOf,
  type PassInfo,
  type Plugin,
  type SettleInfo,
  type StrategyContext,
} from '@acc/contract';

export interface GradientNoiseScaleOptions {
  /** The weight of the old value in the running means. Default 0.95. */
  readonly decay?: number;
  /**
   * The number of samples in a (micro-)batch of one rank, for loops without prepared data. Default:
   * that of prepared data.
   */
  readonly batchSize?: number;
}

/** The state of an estimate, for a checkpoint. */
export interface NoiseScaleState {
  readonly gradientSquared: number;
  readonly noise: number;
}

/** The squared norms of this rank's gradients of one backward pass. */
interface OwnPass {
  readonly info: PassInfo;
  readonly norms: Tensor[];
}

/**
 * Creates a plugin that estimates, in each step, the batch size above which more samples stop
 * helping.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function gradientNoiseScale(options: GradientNoiseScaleOptions = {}): GradientNoiseScale {
  return new GradientNoiseScale(options);
}

/**
 * Estimates the simple noise scale of McCandlish et al., "An Empirical Model of Large-Batch
 * Training", 2018, appendix A.1. It uses the gradients of single ranks and micro-batches, with B
 * samples each, and that of all together. The mean of |G_B|² is |G|² + tr(Σ) / B, so two sizes B
 * determine both unknowns. Both are averaged over steps. Each step costs one norm for each
 * gradient, one collective of four numbers, and two reads. It needs at least two ranks or two
 * micro-batches. A step throws `ACC_NOISE_SAMPLES` if the number of samples of a batch is unknown.
 * Steps of several optimizers with different variables have equal weight in the means.
 */
export class GradientNoiseScale implements Plugin {
  readonly name = 'gradient-noise-scale';
  readonly #decay: number;
  readonly #batchSize: number | undefined;
  #context: StrategyContext | undefined;
  #passes: OwnPass[] = [];
  #means: NoiseScaleState = { gradientSquared: 0, noise: 0 };

  constructor(options: GradientNoiseScaleOptions) {
    checkKeys('gradientNoiseScale', options, ['decay', 'batchSize']);
    const { decay = 0.95, batchSize } = options;
    if (!(decay >= 0 && decay < 1) || (batchSize !== undefined && !(batchSize > 0))) {
      throw new AccError(
        'ACC_INVALID_OPTION',
        'gradientNoiseScale: decay must be at least 0 and below 1, and batchSize above 0.',
        { help: 'Leave them out for their defaults.', details: { decay, batchSize } },
      );
    }
    this.#decay = decay;
    this.#batchSize = batchSize;
  }

  /**
   * B = tr(Σ) / |G|², in samples. For batches far below B, doubling the batch nearly halves the
   * number of steps. For batches far above B, it hardly changes the number of steps. Undefined
   * until there is a positive estimate.
   */
  get criticalBatchSize(): number | undefined {
    const { gradientSquared, noise } = this.#means;
    return gradientSquared > 0 && noise > 0 ? noise / gradientSquared : undefined;
  }

  getState(): NoiseScaleState {
    return this.#means;
  }

  setState({ gradientSquared, noise }: NoiseScaleState): void {
    this.#means = { gradientSquared, noise };
  }

  /** @throws AccError `ACC_STRATEGY_CANNOT` on a context axis: gradients of shards are not of samples. */
  attach(context: StrategyContext): void {
    if (context.mesh.size('context') > 1) throw needsSamples();
    this.#context = context;
  }

  ready(gradLocal: Tensor, info: PassInfo): void {
    let pass = this.#passes.at(-1);
    if (pass?.info !== info) this.#passes.push((pass = { info, norms: [] }));
    pass.norms.push(keep(this.#context!.kernels.lists.norm([gradLocal])));
  }

  settle(grads: readonly (Tensor | null)[], { variables }: SettleInfo): boolean {
    const own = ownSums(this.#takePasses(variables), this.#batchSize);
    const step = estimate(own, grads, this.#context!);
    if (step) {
      const mix = (mean: number, value: number) => this.#decay * mean + (1 - this.#decay) * value;
      const { gradientSquared, noise } = this.#means;
      this.#means = {
        gradientSquared: mix(gradientSquared, step.gradientSquared),
        noise: mix(noise, step.noise),
      };
    }
    return true;
  }

  detach(): void {
    for (const { norms } of this.#passes.splice(0)) dispose(norms);
  }

  /** The passes over these variables. Passes of another optimizer are kept until its own step. */
  #takePasses(variables: readonly Variable[] | undefined): OwnPass[] {
    const isTaken = ({ info }: OwnPass) => !variables || areSame(info.variables, variables);
    const taken = this.#passes.filter(isTaken);
    this.#passes = this.#passes.filter((pass) => !isTaken(pass));
    return taken;
  }
}

function areSame(a: readonly Variable[], b: readonly Variable[]): boolean {
  return a.length === b.length && a.every((variable, i) => variable === b[i]);
}

/** Sums over this rank's passes: Σ |G_B|², Σ 1 / B, Σ B and their number. Disposes the norms. */
function ownSums(passes: readonly OwnPass[], batchSize: number | undefined): number[] {
  const sums = [0, 0, 0, 0];
  for (const { info, norms } of passes) {
    const samples = batchSize ?? info.samples;
    if (samples === undefined) throw uncounted();
    if (samples > 0 && info.weight > 0) {
      const squared = tidy(() => sum(square(stack(norms))).dataSync()[0]!) / info.weight ** 2;
      [squared, 1 / samples, samples, 1].forEach((value, i) => (sums[i]! += value));
    }
    dispose(norms);
  }
  return sums;
}

/** Undefined if all samples were in one pass, or if the gradients are not finite. */
function estimate(
  own: number[],
  grads: readonly (Tensor | null)[],
  { mesh, kernels }: StrategyContext,
): NoiseScaleState | undefined {
  const all = [...valuesOf(tidy(() => mesh.dataRanks.allReduce(tensor1d(own), 'sum')))];
  const [squares, inverses, samples, passes] = all as [number, number, number, number];
  const full = grads.filter((grad) => grad !== null);
  const bigSquared = tidy(() => square(kernels.lists.norm(full)).dataSync()[0]!);
  if (passes < 2) return undefined;
  const smallSquared = squares / passes;
  const [inverseSmall, inverseBig] = [inverses / passes, 1 / samples];
  const noise = (smallSquared - bigSquared) / (inverseSmall - inverseBig);
  const gradientSquared = bigSquared - noise * inverseBig;
  return Number.isFinite(noise) ? { gradientSquared, noise } : undefined;
}

function uncounted(): AccError {
  return new AccError('ACC_NOISE_SAMPLES', 'The noise scale needs to know how many samples a batch has.', {
    help: 'Train on prepared data, or set the option batchSize of gradientNoiseScale.',
  });
}

function needsSamples(): AccError {
  return new AccError(
    'ACC_STRATEGY_CANNOT',
    'gradientNoiseScale compares gradients of samples. On a context axis each rank has the gradient of its shard of samples.',
    { help: 'Leave it out, or measure it on a mesh without the axis context.' },
  );
}
