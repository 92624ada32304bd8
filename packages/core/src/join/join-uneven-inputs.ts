import { checkKeys, type Collective, type Strategy } from '@acc/contract';
import type { DataPreparation } from '../prepare/prepare-data.js';
import type { Preparation } from '../prepare/prepare.js';
import type { TrainingStep } from '../step/training-step.js';
import type { Joinable } from './joinable.js';
import { shareOptimizer } from './share-optimizer.js';

export interface JoinUnevenInputsOptions {
  /**
   * Overrides `dataLoader.evenBatches` for epochs of prepared data that begin inside. Default: no
   * override.
   */
  readonly evenBatches?: boolean;
}

interface JoinContext {
  readonly joinable: Joinable;
  readonly data: DataPreparation;
  readonly collective: Collective;
  readonly strategy: Strategy;
  readonly preparation: Preparation;
  readonly trainingStep: TrainingStep;
}

/** See `Accelerator.joinUnevenInputs`. */
export async function joinUnevenInputs<T>(
  fn: () => T | Promise<T>,
  options: JoinUnevenInputsOptions,
  { joinable, data, collective, strategy, preparation, trainingStep }: JoinContext,
): Promise<T> {
  checkKeys('joinUnevenInputs', options, ['evenBatches']);
  trainingStep.limits.require('join');
  let result: T;
  let source: number;
  data.evenBatches = options.evenBatches;
  joinable.begin();
  try {
    result = await fn();
    source = joinable.shadow();
  } finally {
    joinable.end();
    data.evenBatches = undefined;
  }
  strategy.synchronize?.(source);
  trainingStep.rejoin();
  preparation.adoption.agree([preparation, ...preparation.prepared.optimizers]);
  for (const optimizer of preparation.prepared.optimizers)
    await shareOptimizer(optimizer, collective, source);
  return result;
}
