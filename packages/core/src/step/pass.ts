import { scalar, tidy, zerosLike, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import {
  sumOfCounts,
  type Collective,
  type GradientAccumulation,
  type ItemCounts,
  type Plugin,
  type Strategy,
} from '@acc/contract';
import { settle } from './settle.js';

/** One backward pass through the pipeline. */
export interface Pass {
  /** What the gradient of this rank's mean loss counts. */
  readonly weight: number;
  /** The gradient of the variable at `place` is final. The pass takes it over. */
  ready(place: number, grad: Tensor): void;
  finish(): FinishedPass;
}

export interface FinishedPass {
  /** The caller's. */
  readonly grads: (Tensor | null)[];
  /** False: the step that they are for is skipped. */
  readonly isUsable: boolean;
  /** Samples of all ranks that the gradients come from. */
  readonly samples: number | undefined;
}

export interface PassOptions {
  readonly strategy: Strategy;
  readonly plugins: readonly Plugin[];
  /** The ranks that get rows of their own. */
  readonly dataRanks: Collective;
  readonly accumulation: GradientAccumulation;
  /** False: the gradients are settled later, when they have been reduced. */
  readonly settles: boolean;
}

/** What a pass goes over. */
export interface PassSubject {
  readonly variables: readonly Variable[];
  readonly counts: ItemCounts;
  /** Samples of this rank; undefined in a loop that feeds itself. */
  readonly ownSamples: number | undefined;
}

/** A pass whose gradients are held, or one that gives them and what is held to the strategy. */
export function beginPass(subject: PassSubject, options: PassOptions): Pass {
  const { accumulation, plugins } = options;
  const given = accumulation.isHolding ? holdingPass(subject, accumulation) : flushingPass(subject, options);
  const pass = subject.counts.own === 0 ? withoutGradients(given) : given;
  const listeners = plugins.filter((plugin) => plugin.ready);
  if (listeners.length === 0) return pass;
  const info = { weight: pass.weight, samples: subject.ownSamples, variables: subject.variables };
  return {
    ...pass,
    ready(place, grad) {
      for (const plugin of listeners) plugin.ready!(grad, info, subject.variables[place]!);
      pass.ready(place, grad);
    },
  };
}

/** The weight of a pass over variables of which nothing is held. */
export function freshWeight(
  counts: ItemCounts,
  { accumulation, dataRanks }: Pick<PassOptions, 'accumulation' | 'dataRanks'>,
): number {
  if (accumulation.isHolding) return 1;
  return weightOf(counts, counts.all ?? sumOverRanks(counts.own, dataRanks));
}

/** No items at all: gradients of nothing. */
function weightOf({ own }: ItemCounts, all: number): number {
  return all === 0 ? 0 : own / all;
}

/** A rank without items adds nothing, also where the mean over none of them, and its gradient, is not a number. */
function withoutGradients(pass: Pass): Pass {
  return {
    ...pass,
    ready(place, grad) {
      const nothing = zerosLike(grad);
      grad.dispose();
      pass.ready(place, nothing);
    },
  };
}

function holdingPass({ variables, counts }: PassSubject, accumulation: GradientAccumulation): Pass {
  const { ready, finish } = accumulation.hold(variables, counts);
  return {
    weight: 1,
    ready,
    finish: () => ({ grads: finish(), isUsable: true, samples: counts.samples }),
  };
}

function flushingPass({ variables, counts }: PassSubject, options: PassOptions): Pass {
  const { strategy, plugins, dataRanks, accumulation, settles } = options;
  const held = accumulation.take(variables);
  const total = held ? sumOfCounts(held.counts, counts) : counts;
  const all = total.all ?? sumOverRanks(total.own, dataRanks);
  const factor = all === 0 ? 0 : 1 / all;
  const begun = strategy.beginReduction(variables);
  const reduction = held ? held.joinedTo(begun, factor) : begun;
  return {
    weight: weightOf(counts, all),
    ready: (place, grad) => reduction.ready(place, grad),
    finish() {
      const grads = reduction.finish();
      return { grads, isUsable: !settles || settle(plugins, grads, { variables }), samples: total.samples };
    },
  };
}

function sumOverRanks(count: number, dataRanks: Collective): number {
  if (dataRanks.size === 1) return count;
  return tidy(() => dataRanks.allReduce(scalar(count), 'sum').dataSync()[0]!);
}
