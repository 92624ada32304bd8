import { type Tensor, type Variable } from '@tensorflow/tfjs-core';
import { AccError, checkKeys, type Collective } from '@acc/contract';
import type { TrainingStep } from '../step/training-step.js';
import { variablesOf } from '../prepare/model-weights.js';
import { packedOf } from '@acc/kernels';
import { isModel } from '@acc/tfjs-internals';
import { averageTensors } from './average.js';

/** The components of an Accelerator that local training uses. */
export interface LocalTraining {
  readonly trainingStep: TrainingStep;
  readonly collective: Collective;
}

/** Models or lists of variables. All must be prepared. */
export type Trained = object | readonly Variable[];

/**
 * Ranks train without communication and synchronize every few steps. From its creation to `end`,
 * gradients are not reduced over ranks.
 */
export abstract class LocalSteps implements Disposable {
  protected readonly collective: Collective;
  protected readonly trained: readonly Variable[];
  /** Weights that the forward pass changes, such as the moving statistics of batch normalisation. */
  readonly #statistics: readonly Variable[];
  readonly #every: number;
  readonly #trainingStep: TrainingStep | undefined;
  #steps = 0;
  #hasEnded = false;

  /** @param isEnabled False: gradients are reduced as usual, and nothing else happens. */
  constructor(
    { trainingStep, collective }: LocalTraining,
    trained: Trained,
    every: number,
    isEnabled: boolean,
  ) {
    const variables = isModel(trained) ? variablesOf(trained) : (trained as readonly Variable[]);
    // Packed variables are frozen, and the same on all ranks.
    const isFloat = (variable: Variable) => variable.dtype === 'float32' && !packedOf(variable);
    this.trained = variables.filter((variable) => variable.trainable && isFloat(variable));
    this.#statistics = variables.filter((variable) => !variable.trainable && isFloat(variable));
    trainingStep.trained.require(new.target.name, this.trained);
    this.collective = collective;
    this.#every = every;
    if (!isEnabled) return;
    this.#trainingStep = trainingStep;
    trainingStep.trainAlone(this, this.trained);
  }

  /** The number of local steps since ranks last synchronized. */
  protected get stepsSince(): number {
    return this.#steps;
  }

  protected setStepsSince(steps: number): void {
    this.#steps = steps;
  }

  /** Call it after each step of the optimizer, the same number of times on all ranks. */
  step(): void {
    if (!this.#trainingStep || this.#hasEnded) return;
    this.#steps++;
    if (this.#steps === this.#every) this.#meet();
  }

  /**
   * Synchronizes a last time if there were steps since the last time. Afterwards gradients are
   * reduced again.
   */
  end(): void {
    if (!this.#trainingStep || this.#hasEnded) return;
    if (this.#steps > 0) this.#meet();
    this.#hasEnded = true;
    this.#trainingStep.endAlone(this);
  }

  [Symbol.dispose](): void {
    this.end();
  }

  /** Gives every rank the same values of the trained variables. */
  protected abstract combine(means: readonly Tensor[]): void;

  #meet(): void {
    this.#steps = 0;
    const means = averageTensors([...this.trained, ...this.#statistics], this.collective);
    // The optimizer steps inside it are the same on all ranks, so gradients need no reduction.
    this.#trainingStep!.sync.locally(() => this.combine(means.slice(0, this.trained.length)));
    this.#statistics.forEach((variable, i) => variable.assign(means[this.trained.length + i]!));
    for (const mean of means) mean.dispose();
  }
}

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function requireSteps(where: string, options: object, name: string, known: readonly string[]): void {
  checkKeys(where, options, known);
  const value = (options as Record<string, unknown>)[name];
  if (value === undefined || (Number.isInteger(value) && (value as number) > 0)) return;
  throw new AccError(
    'ACC_INVALID_OPTION',
    `${where}.${name} is ${String(value)}; expected a whole number from 1.`,
    { help: 'Leave it out for its default.' },
  );
}
