import { keep, stack, tidy, type NamedTensorMap, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { PassInfo, StepInfo, StrategyContext } from '@acc/contract';
import type { StepRow } from '@acc/records';

/** Figures of single gradients and of weights. See `STEP_COLUMNS` of `@acc/records`. */
export type GradientFigures = Pick<
  StepRow,
  'ownGradNorm' | 'weightNorm' | 'gradRatio' | 'zeroUnits' | 'unusedVariables'
>;

export const NO_GRADIENT_FIGURES: GradientFigures = {
  ...{ ownGradNorm: NaN, weightNorm: NaN, gradRatio: NaN, zeroUnits: NaN, unusedVariables: NaN },
};

/**
 * Looks at single gradients and at weights, which takes a kernel for each of them. So it does that in few
 * steps: in the sets of figures 1, 2, 4, 8 and so on.
 */
export class GradientLook {
  /** Norms of the gradients of this rank, with the factor that the pass gave them. */
  #own: { readonly norm: Tensor; readonly weight: number }[] = [];
  #variables: readonly Variable[] = [];
  #passes = new Set<PassInfo>();
  #gradients: Pick<GradientFigures, 'gradRatio' | 'zeroUnits' | 'unusedVariables'> | undefined;

  constructor(private readonly context: () => Pick<StrategyContext, 'kernels'>) {}

  /** Whether the step with this number is one to look at. `every`: the steps between two sets of figures. */
  static isDue(step: number, every: number): boolean {
    const set = step / every;
    return Number.isInteger(set) && (set & (set - 1)) === 0;
  }

  /** A gradient of this rank is final. */
  ready(grad: Tensor, pass: PassInfo): void {
    if (grad.size === 0 || grad.dtype !== 'float32') return;
    this.#passes.add(pass);
    this.#variables = pass.variables;
    const norm = keep(this.context().kernels.lists.norm([grad]));
    this.#own.push({ norm, weight: pass.weight });
  }

  /** Gradients are reduced, and the optimizer is about to apply them. */
  gradients(grads: NamedTensorMap): void {
    const entries = Object.entries(grads) as [string, Tensor | null][];
    const known = entries.flatMap(([, grad]) => (grad && grad.size > 0 ? [grad] : []));
    const names = new Set(entries.flatMap(([name, grad]) => (grad ? [name] : [])));
    this.#gradients = {
      ...this.#sizesOf(known),
      unusedVariables:
        this.#variables.length === 0 ? NaN : this.#variables.filter(({ name }) => !names.has(name)).length,
    };
  }

  #sizesOf(grads: readonly Tensor[]): Pick<GradientFigures, 'gradRatio' | 'zeroUnits'> {
    const { lists } = this.context().kernels;
    const kernels = grads.filter(({ rank }) => rank >= 2);
    const biases = grads.filter(({ rank }) => rank === 1);
    const values = biases.reduce((sum, { size }) => sum + size, 0);
    const [first, last] = [kernels[0], kernels.at(-1)];
    const rms = (grad: Tensor) => tidy(() => lists.norm([grad]).dataSync()[0]!) / Math.sqrt(grad.size);
    return {
      // Without a gradient anywhere, it is 0 ÷ 0.
      gradRatio: first && last && first !== last ? rms(first) / rms(last) || 0 : 1,
      zeroUnits: biases.reduce((sum, grad) => sum + zerosOf(grad), 0) / Math.max(1, values),
    };
  }

  /**
   * The figures of the step that has just ended.
   *
   * Figures that compare ranks are NaN if the weights of ranks differ by design, as within `noSync` and between
   * the averages of LocalSGD and DiLoCo, and if ranks hold shards: to read those, ranks would have to gather.
   */
  take({ isShared, isReplicated }: Pick<StepInfo, 'isShared' | 'isReplicated'>): GradientFigures {
    const gradients = this.#gradients ?? NO_GRADIENT_FIGURES;
    const ofRank = isShared && isReplicated ? this.#ofRank() : {};
    const figures = { ...NO_GRADIENT_FIGURES, ...gradients, ...ofRank };
    this.dispose();
    return figures;
  }

  #ofRank(): Pick<GradientFigures, 'ownGradNorm' | 'weightNorm'> {
    const living = this.#variables.filter(({ isDisposed, size }) => !isDisposed && size > 0);
    if (living.length === 0) return { ownGradNorm: NaN, weightNorm: NaN };
    const { lists } = this.context().kernels;
    return tidy(() => {
      const weightNorm = lists.norm(living).dataSync()[0]!;
      if (this.#passes.size !== 1) return { ownGradNorm: NaN, weightNorm };
      const norms = stack(this.#own.map(({ norm }) => norm)).dataSync();
      const squares = this.#own.reduce((sum, { weight }, i) => sum + (norms[i]! / weight) ** 2, 0);
      return { ownGradNorm: Math.sqrt(squares), weightNorm };
    });
  }

  dispose(): void {
    for (const { norm } of this.#own) norm.dispose();
    this.#own = [];
    this.#variables = [];
    this.#passes = new Set();
    this.#gradients = undefined;
  }
}

function zerosOf(grad: Tensor): number {
  let zeros = 0;
  for (const value of grad.dataSync<'float32'>()) if (value === 0) zeros++;
  return zeros;
}
