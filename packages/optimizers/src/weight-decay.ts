import type { serialization } from '@tensorflow/tfjs-core';
import {
  filterToConfig,
  scale_,
  selected,
  type NameFilter,
  type StepChunk,
} from '@acc/kernels/optimizer-steps';
import { NAME_FILTER, nameTest } from './name-filter.js';
import { NON_NEGATIVE } from './options.js';

/** Options of optimizers with decoupled weight decay. */
export interface WeightDecayOptions {
  /**
   * Decoupled weight decay λ: each step also subtracts learning rate · λ · w from the weights,
   * separately from the gradient and its moments.
   */
  readonly weightDecay?: number;
  /**
   * Variables without weight decay, usually biases and the scales of normalisations. Default none.
   */
  readonly excludeFromWeightDecay?: NameFilter;
}

export const WEIGHT_DECAY_KINDS = {
  weightDecay: NON_NEGATIVE,
  excludeFromWeightDecay: NAME_FILTER,
};

/** Decides which weights decay, and how fast. */
export class WeightDecay {
  readonly rate: number;
  readonly #filter: NameFilter;
  readonly #isExcluded: (name: string) => boolean;

  constructor({ weightDecay, excludeFromWeightDecay }: Required<WeightDecayOptions>) {
    this.rate = weightDecay;
    this.#filter = excludeFromWeightDecay;
    this.#isExcluded = nameTest(excludeFromWeightDecay);
  }

  /** λ for a variable: the rate, or 0. */
  of(name: string): number {
    return this.#isExcluded(name) ? 0 : this.rate;
  }

  /** Splits a chunk into the variables with weight decay and the others. */
  split(chunk: StepChunk): { decaying: StepChunk; others: StepChunk } {
    return {
      decaying: selected(chunk, (name) => this.of(name) > 0),
      others: selected(chunk, (name) => this.of(name) === 0),
    };
  }

  /** w ← w - learningRate · λ · w, in place. */
  shrink(chunk: StepChunk, learningRate: number): void {
    const { weights } = this.split(chunk).decaying;
    if (weights.length > 0) scale_(weights, 1 - learningRate * this.rate);
  }

  /** @throws AccError `ACC_OPTIMIZER_NOT_SAVEABLE`. */
  toConfig(where: string): { weightDecay: number; excludeFromWeightDecay: serialization.ConfigDictArray } {
    return {
      weightDecay: this.rate,
      excludeFromWeightDecay: filterToConfig(`${where}.excludeFromWeightDecay`, this.#filter),
    };
  }
}
