import type { Tensor } from '@tensorflow/tfjs-core';
import type { Accelerator } from '../accelerator.js';
import { localTrainingOf } from './local-training.js';
import { LocalSteps, requireSteps, type Trained } from './local-steps.js';

export interface LocalSgdOptions {
  /** Steps of the optimizer after which parameters are averaged. Default 8. */
  readonly localSgdSteps?: number;
  /** False: plain data parallelism. Default true. */
  readonly enabled?: boolean;
}

/**
 * Local SGD (Stich, "Local SGD Converges Fast and Communicates Little", 2019, algorithm 1): ranks take steps by themselves and
 * average their parameters every so many. Optimizer state stays each rank's own.
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
