import type { Collective, KernelLayer, Strategy } from '@acc/contract';
import type { TrainingStep } from './step/training-step.js';

/** The members of the running Accelerator that other modules need. */
export interface Running {
  readonly trainingStep: TrainingStep;
  readonly kernels: KernelLayer;
  readonly collective: Collective;
  readonly strategy: Strategy;
  /** The number of ranks on this host. */
  readonly localSize: number;
  freeMemory(): void;
}

interface Stage {
  readonly accelerator?: Running | undefined;
  /** Ends what is in place until the next Accelerator. */
  readonly leave?: (() => void) | undefined;
}

let running: Stage = {};

export function whatRuns(): Running | undefined {
  return running.accelerator;
}

/** @param leave Called when the next Accelerator runs. */
export function setRunning(accelerator: Running | undefined, leave?: () => void): void {
  running.leave?.();
  running = { accelerator, leave };
}
