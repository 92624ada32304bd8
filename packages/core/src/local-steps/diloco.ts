import {
  keep,
  clone,
  sub,
  tensor,
  tidy,
  type NamedTensorMap,
  type Optimizer,
  type Tensor,
} from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { sgdw } from '@acc/optimizers';
import type { Accelerator } from '../accelerator.js';
import { localTrainingOf } from './local-training.js';
import { LocalSteps, requireSteps, type Trained } from './local-steps.js';

export interface DiLoCoOptions {
  /** The number of inner steps, H, between two outer steps. Default 500. */
  readonly innerSteps?: number;
  /**
   * The optimizer that applies the difference between the parameters of the last outer step and the
   * mean over ranks as a gradient. Do not prepare it. The caller owns it. Default: SGD with
   * Nesterov momentum 0.9 and learning rate 0.7.
   */
  readonly outerOptimizer?: Optimizer;
}

/** Plain values that JSON with typed arrays can hold. */
export interface DiLoCoState {
  /** The number of inner steps since the last outer step. */
  readonly steps: number;
  /** The parameters of the last outer step, in the order of the model. */
  readonly parameters: readonly Float32Array[];
  readonly outerOptimizer: readonly {
    readonly name: string;
    readonly shape: number[];
    readonly values: Float32Array | Int32Array;
  }[];
}

/**
 * DiLoCo (Douillard et al., "DiLoCo: Distributed Low-Communication Training of Language Models",
 * 2023, algorithm 1). Ranks train with an inner optimizer without communication. Every H steps, an
 * outer optimizer updates the shared parameters by the mean change over ranks.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_NOT_PREPARED`.
 */
export class DiLoCo extends LocalSteps {
  readonly #outer: Optimizer;
  readonly #isOwnOptimizer: boolean;
  #parameters: Tensor[];

  /** @param model A prepared model, or a list of prepared variables. */
  constructor(accelerator: Accelerator, model: Trained, options: DiLoCoOptions = {}) {
    requireSteps('DiLoCo', options, 'innerSteps', ['innerSteps', 'outerOptimizer']);
    super(localTrainingOf(accelerator), model, options.innerSteps ?? 500, true);
    this.#isOwnOptimizer = options.outerOptimizer === undefined;
    this.#outer = options.outerOptimizer ?? sgdw({ learningRate: 0.7, momentum: 0.9, nesterov: true });
    this.#parameters = this.#copies();
  }

  protected override combine(means: readonly Tensor[]): void {
    tidy(() => {
      const differences: NamedTensorMap = {};
      this.trained.forEach((variable, i) => {
        differences[variable.name] = sub(this.#parameters[i]!, means[i]!);
        variable.assign(this.#parameters[i]!);
      });
      this.#outer.applyGradients(differences);
    });
    this.#setParameters(this.#copies());
  }

  override end(): void {
    super.end();
    this.#setParameters([]);
    if (this.#isOwnOptimizer) this.#outer.dispose();
  }

  async getState(): Promise<DiLoCoState> {
    const weights = await this.#outer.getWeights();
    const state = {
      steps: this.stepsSince,
      parameters: this.#parameters.map((x) => x.dataSync<'float32'>()),
      outerOptimizer: weights.map(({ name, tensor: x }) => ({
        name,
        shape: x.shape,
        values: x.dataSync() as Float32Array | Int32Array,
      })),
    };
    // The first weight is the step count. The optimizer owns the others.
    weights[0]?.tensor.dispose();
    return state;
  }

  /**
   * Restores the state of {@link getState}. It does not contain the parameters of the model itself.
   */
  async setState({ steps, parameters, outerOptimizer }: DiLoCoState): Promise<void> {
    const sizes = parameters.map(({ length }) => length);
    if (sizes.join() !== this.trained.map(({ size }) => size).join()) {
      throw new AccError('ACC_STATE_MISMATCH', 'The state of DiLoCo belongs to different variables.', {
        help: 'Create DiLoCo with the model with which the state was saved.',
      });
    }
    this.setStepsSince(steps);
    this.#setParameters(parameters.map((values, i) => keep(tensor(values, this.trained[i]!.shape))));
    const weights = outerOptimizer.map(({ name, shape, values }) => ({
      name,
      tensor: tensor(values, shape, values instanceof Int32Array ? 'int32' : 'float32'),
    }));
    await this.#outer.setWeights(weights);
    for (const { tensor: x } of weights) x.dispose();
  }

  #copies(): Tensor[] {
    return this.trained.map((variable) => keep(clone(variable)));
  }

  #setParameters(parameters: Tensor[]): void {
    for (const x of this.#parameters) x.dispose();
    this.#parameters = parameters;
  }
}
