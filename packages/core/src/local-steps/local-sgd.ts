import type { Tensor } from '@tensorflow/tfjs-core';
import type { Accelerator } from '../accelerator.js';
import { localTrainingOf } from './local-training.js';
import { LocalSteps, requireSteps, type Trained } from './local-steps.js';

export interface LocalSgdOptions {
  /** The number of optimizer steps after which parameters are averaged. Default 8. */
  readonly localSgdSteps?: number;
  /** False: plain data parallelism. Default true. */
  readonly enabled?: boolean;
}

/**
 * Local SGD (Stich, "Local SGD Converges Fast and Communicates Little", 2019, algorithm 1). Ranks
 * take steps without communication, and average their parameters every `localSgdSteps` steps. Each
 * rank keeps its own optimizer state.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_NOT_PREPARED`.
 */
export class LocalSGD extends LocalSteps {
  /** @param model A prepared model, or a list of prepared variables. */
  constructor(accelerator: Accelerator, model: Trained, options: LocalSgdOptions = {}) {
    requireSteps('LocalSGD', options, 'localSgdSteps', ['localSgdSteps', 'enabled']);
    const { localSgdSteps = 8, enabled = true } = options;
    super(localTrainingOf(accelerator), model, localSgdSteps, enabled);
  }

  protected override combine(means: readonly Tensor[]): void {
    this.trained.forEach((variable, i) => variable.assign(means[i]!));
  }
}
