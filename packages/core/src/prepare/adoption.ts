import { engine, type Variable } from '@tensorflow/tfjs-core';
import type { Collective, Preparation, Strategy } from '@acc/contract';
import { hasLostValues } from '@acc/placement';
import type { TrainingStep } from '../step/training-step.js';
import { prepareVariables } from './prepare-variables.js';
import type { PreparedObjects } from './prepared-objects.js';

export interface AdoptionOptions {
  readonly trainingStep: TrainingStep;
  readonly strategy: Strategy;
  /** Ends with the Accelerator. */
  readonly life: Preparation;
  readonly collective: Collective;
  readonly prepared: PreparedObjects;
}

/**
 * Prepares variables that were not given to `prepare`, before the first loss that they are trained
 * on is computed.
 */
export class Adoption {
  readonly #options: AdoptionOptions;
  /** The owners that have offered all trainable variables. */
  readonly #owners = new WeakSet<object>();

  constructor(options: AdoptionOptions) {
    this.#options = options;
  }

  /**
   * Called on every rank before `owner`, a prepared optimizer or an Accelerator, computes gradients
   * for `list`, or without it for all trainable variables.
   *
   * - Variables of a list are prepared.
   * - Without a list, at the owner's first call, all trainable variables that every rank has start
   *   from the values of rank 0. Their gradients are reduced from the first loss that depends on
   *   them.
   *
   * Does nothing if ranks do not act together: inside `noSync`, and while they train apart.
   *
   * @throws AccError `ACC_VARIABLES_DIFFER` if ranks give different lists.
   */
  adopt(owner: object, list: readonly Variable[] | undefined): void {
    const { trainingStep } = this.#options;
    if (trainingStep.sync.isOff) return;
    const { trained } = trainingStep;
    if (list) {
      const given = list.filter((variable) => variable.trainable && !trained.has(variable));
      const fresh = given.filter((variable) => !trained.knows(variable));
      if (fresh.length > 0) prepareVariables(this.#options, fresh);
      trained.add(given);
    } else if (!this.#owners.has(owner)) {
      this.#owners.add(owner);
      this.#offerAll();
    }
  }

  /**
   * Prepares the trainable variables for which a checkpoint has values, by name, if all of them
   * exist.
   */
  adoptNamed(names: readonly string[]): void {
    const { trainingStep } = this.#options;
    if (this.#options.prepared.optimizers.length === 0) return;
    const { registeredVariables } = engine();
    const prepared = new Set(trainingStep.trained.prepared);
    const found = names.flatMap((name) => registeredVariables[name] ?? []);
    const fresh = found.filter((variable) => variable.trainable && !prepared.has(variable));
    if (fresh.length === 0 || fresh.length + prepared.size !== names.length) return;
    prepareVariables(this.#options, fresh);
    trainingStep.trained.add(fresh);
  }

  #offerAll(): void {
    const { trainingStep, collective, prepared } = this.#options;
    const { trained } = trainingStep;
    // tfjs's Adam keeps the powers of beta in trainable variables.
    const ofOptimizers = new Set<unknown>(
      prepared.optimizers.flatMap((optimizer) => Object.values(optimizer)),
    );
    const fresh = Object.values(engine().registeredVariables).filter(
      (variable) =>
        variable.trainable &&
        !trained.knows(variable) &&
        !ofOptimizers.has(variable) &&
        // Models of an Accelerator that was freed. A loss that uses one gets the error.
        !hasLostValues(variable),
    );
    const byKey = new Map(fresh.map((variable) => [keyOf(variable), variable]));
    const [first, ...others] = collective.allGatherObject([...byKey.keys()]);
    const common = first!.filter((key) => others.every((keys) => keys.includes(key)));
    if (common.length === 0) return;
    const offered = common.map((key) => byKey.get(key)!);
    prepareVariables(this.#options, offered);
    trained.offer(offered);
  }
}

/** Equal for variables that ranks regard as the same. */
function keyOf({ name, shape, dtype }: Variable): string {
  return `${name} ${dtype}[${shape.join()}]`;
}
