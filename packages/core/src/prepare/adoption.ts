import { engine, type Variable } from '@tensorflow/tfjs-core';
import { AccError, type Collective, type Preparation, type Strategy } from '@acc/contract';
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
  /** The variables that it has prepared on this rank. */
  readonly #adopted = new Set<string>();

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
      if (fresh.length > 0) this.#prepare(fresh);
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

  /**
   * Called on every rank after some ranks may have trained without the others. An owner that has offered
   * its variables on one rank does not offer them later, when a rank that had no data would do so alone.
   *
   * @throws AccError `ACC_VARIABLES_DIFFER` if variables were first prepared while a rank had no data.
   */
  agree(owners: readonly object[]): void {
    const own = { hasOffered: owners.map((owner) => this.#owners.has(owner)), names: [...this.#adopted] };
    const all = this.#options.collective.allGatherObject(own);
    owners.forEach((owner, i) => all.some(({ hasOffered }) => hasOffered[i]) && this.#owners.add(owner));
    const union = new Set(all.flatMap(({ names }) => names));
    const rank = all.findIndex(({ names }) => names.length < union.size);
    if (rank < 0) return;
    const known = new Set(all[rank]!.names);
    throw firstOfferedApart(
      rank,
      [...union].filter((name) => !known.has(name)),
    );
  }

  #prepare(variables: readonly Variable[]): void {
    prepareVariables(this.#options, variables);
    for (const { name } of variables) this.#adopted.add(name);
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
    this.#prepare(offered);
    trained.offer(offered);
  }
}

/** Equal for variables that ranks regard as the same. */
function keyOf({ name, shape, dtype }: Variable): string {
  return `${name} ${dtype}[${shape.join()}]`;
}

/** A step without a list of variables offers all that are trainable, whether its loss depends on them or not. */
function firstOfferedApart(rank: number, names: readonly string[]): AccError {
  return new AccError(
    'ACC_VARIABLES_DIFFER',
    `These variables were first offered to a step inside joinUnevenInputs, where rank ${rank} had no data: ${names.join(', ')}.`,
    {
      help: 'Give those that you train, or their model, to accelerator.prepare before joinUnevenInputs. A step without a list of variables is offered all that are trainable: create the others with trainable = false.',
      details: { rank, names },
    },
  );
}
