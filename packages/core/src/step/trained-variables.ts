import type { NamedTensorMap, Variable } from '@tensorflow/tfjs-core';
import { AccError, finallyAfter } from '@acc/contract';
import { isLive, registeredVariable } from '@acc/kernels';

const SHOWN = 5;

/**
 * The variables whose gradients are reduced over ranks. A *candidate* is trainable and has the same values on every rank, but no
 * loss has depended on it yet. It becomes *prepared* in the first backward pass in which some rank has a gradient of it.
 */
export class TrainedVariables {
  /** In the order in which they were prepared, which is every rank's. */
  readonly #prepared = new Set<Variable>();
  readonly #candidates = new Set<Variable>();
  #seeksCandidates = false;
  /** There are candidates of which ranks have not yet told each other whether they use them. */
  hasNewCandidates = false;

  /** From now on gradients of `variables` are reduced. */
  add(variables: readonly Variable[]): void {
    for (const each of [this.#prepared, this.#candidates]) {
      for (const variable of each) if (!isLive(variable)) each.delete(variable);
    }
    for (const variable of variables) {
      this.#candidates.delete(variable);
      this.#prepared.add(variable);
    }
  }

  /** From now on gradients of `variables` are reduced once some rank's loss depends on them. */
  offer(variables: readonly Variable[]): void {
    for (const variable of variables) this.#candidates.add(variable);
    if (variables.length > 0) this.hasNewCandidates = true;
  }

  /** What is prepared and was not disposed, in the order in which it was prepared. */
  get prepared(): Variable[] {
    return [...this.#prepared].filter(isLive);
  }

  /** What {@link prepared} gives, then the candidates. */
  get known(): Variable[] {
    return [...this.prepared, ...[...this.#candidates].filter(isLive)];
  }

  has(variable: Variable): boolean {
    return this.#prepared.has(variable);
  }

  /** Whether the variable is prepared or a candidate. */
  knows(variable: Variable): boolean {
    return this.#prepared.has(variable) || this.#candidates.has(variable);
  }

  /** Whether a backward pass that is under way takes the gradient of the variable. */
  takes(variable: Variable): boolean {
    return this.#prepared.has(variable) || (this.#seeksCandidates && this.#candidates.has(variable));
  }

  /** Runs `compute`, whose backward passes may find that the loss depends on candidates. */
  seekingCandidates<T>(compute: () => T): T {
    const before = this.#seeksCandidates;
    this.#seeksCandidates = true;
    return finallyAfter(compute, () => (this.#seeksCandidates = before));
  }

  /** @throws AccError `ACC_NOT_PREPARED` for `what` where some of `variables`, or without them everything, is not prepared. */
  require(what: string, variables?: readonly Variable[]): void {
    if (variables)
      return requireNone(
        what,
        variables.filter((each) => !this.#prepared.has(each)),
      );
    if (this.#prepared.size > 0) return;
    throw new AccError('ACC_NOT_PREPARED', `${what}: no model and no variables are prepared.`, {
      help: 'Give the model, or its variables, to accelerator.prepare first.',
    });
  }

  /** @throws AccError `ACC_NOT_PREPARED` for `what` where `grads` has a gradient of a variable that does not pass. */
  requireOf(what: string, grads: NamedTensorMap, passes: (variable: Variable) => boolean): void {
    requireNone(
      what,
      variablesOfGrads(grads).filter((variable) => !passes(variable)),
    );
  }
}

/** The variables that a record of gradients by name has one of. */
export function variablesOfGrads(grads: NamedTensorMap): Variable[] {
  return Object.keys(grads).flatMap((name) => (grads[name] == null ? [] : (registeredVariable(name) ?? [])));
}

function requireNone(what: string, missing: readonly Variable[]): void {
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name);
  const shown = names.slice(0, SHOWN).map((name) => `'${name}'`);
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '';
  throw new AccError(
    'ACC_NOT_PREPARED',
    `${what}: ${shown.join(', ')}${more} ${names.length === 1 ? 'is' : 'are'} not prepared.`,
    {
      help: "Give the model, or a list of the variables, to accelerator.prepare; or compute the gradients by a prepared optimizer's minimize or computeGradients, or by accelerator.backward.",
      details: { names },
    },
  );
}
