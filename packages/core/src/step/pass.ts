import { scalar, tidy, zerosLike, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Collective, GradientReduction, ListMath, Plugin, Strategy } from '@acc/contract';
import {
  sumOfCounts,
  type GradientAccumulation,
  type AccumulatedGradients,
  type ItemCounts,
} from '@acc/grad-accumulation';
import { singleStrategy } from '../single-strategy/single-strategy.js';
import { settle } from './settle.js';

/** One backward pass through the training step. */
export interface Pass {
  /** The weight of the gradient of this rank's mean loss. */
  readonly weight: number;
  /** The number of items by which a sum of gradients over this rank's items is divided. */
  readonly unit: number;
  /** Reports that the gradient of the variable at `place` is final. The pass takes it over. */
  ready(place: number, grad: Tensor): void;
  finish(): FinishedPass;
}

export interface FinishedPass {
  /** The caller disposes them. */
  readonly grads: (Tensor | null)[];
  /** False: the step of these gradients is skipped. */
  readonly isUsable: boolean;
  /** The number of samples on all ranks that the gradients come from. */
  readonly samples: number | undefined;
}

export interface PassOptions {
  readonly strategy: Strategy;
  readonly plugins: readonly Plugin[];
  /** The ranks whose gradients are summed. */
  readonly gradientRanks: Collective;
  readonly accumulation: GradientAccumulation;
  readonly lists: ListMath;
  /**
   * Whether gradients of this rank's weights also come from the losses of other ranks. All ranks then
   * weight losses in the same unit before the backward pass.
   */
  readonly mixesRanks: boolean;
}

/** Whether gradients of micro-batches are reduced before they are added up. */
export function accumulatesReduced({ traits }: Strategy): boolean {
  return traits.accumulates === 'afterReduction';
}

/** The variables and counts of a pass. */
export interface PassSubject {
  readonly variables: readonly Variable[];
  readonly counts: ItemCounts;
  /** The samples of this rank. Undefined if the loop does not use prepared data. */
  readonly ownSamples: number | undefined;
  /** False: plugins settle the gradients later, after they have been reduced. */
  readonly settles: boolean;
}

/**
 * Begins a pass. It either holds its gradients, or gives them and the held ones to the strategy.
 */
export function beginPass(subject: PassSubject, options: PassOptions): Pass {
  const given = passOf(subject, options);
  const items = options.mixesRanks ? given.unit : subject.counts.own;
  const pass = items === 0 ? withoutGradients(given) : given;
  const listeners = options.plugins.filter((plugin) => plugin.ready);
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

/** The weight of a pass over variables without held gradients. */
export function freshWeight(
  counts: ItemCounts,
  options: Pick<PassOptions, 'accumulation' | 'gradientRanks' | 'strategy' | 'mixesRanks'>,
): Pick<Pass, 'weight' | 'unit'> {
  const { accumulation, strategy, mixesRanks } = options;
  const isMeanOfRank = accumulation.isHolding && !accumulatesReduced(strategy) && !mixesRanks;
  return isMeanOfRank ? meanOfRank(counts) : weightIn(counts, allItems(counts, options));
}

function passOf(subject: PassSubject, options: PassOptions): Pass {
  const { accumulation, strategy } = options;
  if (!accumulation.isHolding) return flushingPass(subject, options);
  return accumulatesReduced(strategy) ? reducedHoldingPass(subject, options) : holdingPass(subject, options);
}

/** If there are no items at all, the weight is 0. */
function weightIn({ own }: ItemCounts, unit: number): Pick<Pass, 'weight' | 'unit'> {
  return { weight: unit === 0 ? 0 : own / unit, unit };
}

function meanOfRank({ own }: ItemCounts): Pick<Pass, 'weight' | 'unit'> {
  return { weight: 1, unit: own };
}

/** A rank without items adds zeros, because a mean over no items, and its gradient, may be NaN. */
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

function holdingPass({ variables, counts }: PassSubject, options: PassOptions): Pass {
  const fresh = freshWeight(counts, options);
  const { ready, finish } = options.accumulation.hold(variables, counts, fresh.unit);
  return {
    ...fresh,
    ready,
    finish: () => ({ grads: finish(), isUsable: true, samples: counts.samples }),
  };
}

/**
 * Reduces the gradients at once and holds the result, which is a mean over the items of all ranks.
 */
function reducedHoldingPass({ variables, counts }: PassSubject, options: PassOptions): Pass {
  const { strategy, accumulation } = options;
  const all = allItems(counts, options);
  const sum = accumulation.hold(variables, { ...counts, own: all, all });
  const reduction = strategy.beginReduction(variables);
  return {
    ...weightIn(counts, all),
    ready: (place, grad) => reduction.ready(place, grad),
    finish: () => ({ grads: handedOn(reduction.finish(), sum), isUsable: true, samples: counts.samples }),
  };
}

/** Gives held gradients to the strategy, or adds them to its result. Then settles the sum. */
function flushingPass({ variables, counts, settles }: PassSubject, options: PassOptions): Pass {
  const { strategy, accumulation } = options;
  const held = accumulation.take(variables);
  const isReduced = accumulatesReduced(strategy);
  const total = held ? sumOfCounts(held.counts, counts) : counts;
  // Gradients that were held after their reduction count for all ranks.
  const all = held && isReduced ? held.counts.own + allItems(counts, options) : allItems(total, options);
  const factor = all === 0 ? 0 : 1 / all;
  const begun = strategy.beginReduction(variables);
  const reduction = held && !isReduced ? held.joinedTo(begun, factor) : begun;
  return {
    ...weightIn(counts, all),
    ready: (place, grad) => reduction.ready(place, grad),
    finish() {
      const reduced = reduction.finish();
      const grads = held && isReduced ? withHeld(reduced, held, factor) : reduced;
      return { grads, isUsable: !settles || settle(grads, variables, options), samples: total.samples };
    },
  };
}

/** The sum of the gradients that are reduced now and of the held ones. */
function withHeld(
  grads: readonly (Tensor | null)[],
  held: AccumulatedGradients,
  factor: number,
): (Tensor | null)[] {
  const variables = new Array<Variable>(grads.length);
  return handedOn(grads, held.joinedTo(singleStrategy().beginReduction(variables), factor));
}

/** Passes gradients to `next` and returns its result. */
function handedOn(grads: readonly (Tensor | null)[], next: GradientReduction): (Tensor | null)[] {
  grads.forEach((grad, place) => {
    if (grad) next.ready(place, grad);
  });
  return next.finish();
}

/**
 * The number of items on all ranks. If it is not known, the ranks communicate, and all of them call
 * this.
 */
function allItems(counts: ItemCounts, { gradientRanks }: Pick<PassOptions, 'gradientRanks'>): number {
  if (counts.all !== undefined) return counts.all;
  if (gradientRanks.size === 1) return counts.own;
  return tidy(() => gradientRanks.allReduce(scalar(counts.own), 'sum').dataSync()[0]!);
}
