import type { NamedTensorMap, Variable } from '@tensorflow/tfjs-core';
import { AccError, finallyAfter } from '@acc/contract';
import { isLive, registeredVariable } from '@acc/kernels';

const SHOWN = 5;

/**
 * The variables whose gradients are reduced over ranks. A *candidate* is trainable and has the same
 * values on every rank, but no loss has depended on it yet. It becomes *prepared* in the first
 * backward pass in which some rank has a gradient of it.
 */
export class TrainedVariables {
  /** In the order of preparation, which is the same on every rank. */
  readonly #prepared = new Set<Variable>();
  readonly #candidates = new Set<Variable>();
  #seeksCandidates = false;
  /** Whether ranks have not yet exchanged which of the candidates they use. */
  hasNewCandidates = false;
  /** Called with variables that were not {@link known}, in the order of preparation. */
  onNew: ((variables: readonly Variable[]) => void) | undefined;

  /** Prepares variables: their gradients are reduced from now on. */
  add(variables: readonly Variable[]): void {
    this.#tell(variables);
    for (const each of [this.#prepared, this.#candidates]) {
      for (const variable of each) if (!isLive(variable)) each.delete(variable);
    }
    for (const variable of variables) {
      this.#candidates.delete(variable);
      this.#prepared.add(variable);
    }
  }

  /** Adds candidates: their gradients are reduced once the loss of some rank depends on them. */
  offer(variables: readonly Variable[]): void {
    this.#tell(variables);
    for (const variable of variables) this.#candidates.add(variable);
    if (variables.length > 0) this.hasNewCandidates = true;
  }

  #tell(variables: readonly Variable[]): void {
    const fresh = variables.filter((variable) => !this.knows(variable));
    if (fresh.length > 0) this.onNew?.(fresh);
  }

  /** The prepared variables that were not disposed, in the order of preparation. */
  get prepared(): Variable[] {
    return [...this.#prepared].filter(isLive);
  }

  /** The {@link prepared} variables, then the candidates. */
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

  /** Whether the current backward pass takes the gradient of the variable. */
  takes(variable: Variable): boolean {
    return this.#prepared.has(variable) || (this.#seeksCandidates && this.#candidates.has(variable));
  }

  /** Runs `compute`. Its backward passes may find that the loss depends on candidates. */
  seekingCandidates<T>(compute: () => T): T {
    const before = this.#seeksCandidates;
    this.#seeksCandidates = true;
    return finallyAfter(compute, () => (this.#seeksCandidates = before));
  }

  /**
   * @throws AccError `ACC_NOT_PREPARED` for `what` if one of `variables` is not prepared or,
   * without `variables`, if nothing is.
   */
  require(what: string, variables?: readonly Variable[]): void {
    if (variables)
      return requireNone(
        what,
        variables.filter((each) => !this.#prepared.has(each)),
      );
    if (this.#prepared.size > 0) return;
    throw new AccError('ACC_NOT_PREPARED', `${what}: no model and no variables are prepared.`, {
      help: 'Pass the model, or its variables, to accelerator.prepare first.',
    });
  }

  /**
   * @throws AccError `ACC_NOT_PREPARED` for `what` if `grads` has a gradient of a variable that
   * does not pass.
   */
  requireOf(what: string, grads: NamedTensorMap, passes: (variable: Variable) => boolean): void {
    requireNone(
      what,
      variablesOfGrads(grads).filter((variable) => !passes(variable)),
    );
  }
}

/** The registered variables for which a record has a gradient. */
export function variablesOfGrads(grads: NamedTensorMap): Variable[] {
  const variables: Variable[] = [];
  for (const name of Object.keys(grads)) {
    const variable = grads[name] == null ? undefined : registeredVariable(name);
    if (variable) variables.push(variable);
  }
  return variables;
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
      help: "Pass the model, or a list of the variables, to accelerator.prepare. Or compute the gradients with a prepared optimizer's minimize or computeGradients, or with accelerator.backward.",
      details: { names },
    },
  );
}
