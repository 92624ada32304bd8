import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Placement } from '@acc/checkpoint';
import { AccError, type Strategy, type TensorPart } from '@acc/contract';
import { weightName } from '../prepare/prepare-model.js';

/** Names in a checkpoint for the tensors of a run, and which parts of whole tensors they are. */
export class NamedTensors {
  readonly #placements = new Map<Tensor, Placement>();
  readonly #strategy: Strategy;
  readonly #names = new Map<Variable, string>();

  /** @param parameters All whose names are asked for, in the order in which they were prepared. */
  constructor(strategy: Strategy, parameters: readonly Variable[]) {
    this.#strategy = strategy;
    const taken = new Set<string>();
    for (const variable of parameters) {
      const wanted = weightName(variable);
      const name = taken.has(wanted) ? variable.name : wanted;
      this.#names.set(variable, name);
      taken.add(name);
    }
  }

  /** The name of a parameter in files. */
  nameOf(parameter: Variable): string {
    return this.#names.get(parameter)!;
  }

  readonly placementOf = (tensor: Tensor): Placement | undefined => this.#placements.get(tensor);

  /** A trained variable, or another one that is prepared. */
  addParameter(variable: Variable, folder: string): void {
    const name = `${folder}/${this.nameOf(variable)}`;
    this.#placements.set(variable, { name, parts: this.partsOf(variable, variable, folder) });
  }

  /** A variable of an optimizer's state. */
  addState(variable: Variable, parameter: Variable | undefined, folder: string, name: string): void {
    const parts = parameter && this.partsOf(variable, parameter, folder);
    this.#placements.set(variable, { name: `${folder}/${name}`, parts });
  }

  /**
   * The parts that `held`, a parameter or state of it, is made of; undefined: it is a whole tensor.
   *
   * @throws AccError `ACC_STATE_INVALID` for state of a sharded parameter that has another shape.
   */
  partsOf(
    held: { readonly shape: readonly number[] },
    parameter: Variable,
    folder: string,
  ): TensorPart[] | undefined {
    const parts = this.#strategy.partsOf?.(parameter);
    if (!parts || held.shape.length === 0) return undefined;
    if (held.shape.join() !== parameter.shape.join()) {
      throw new AccError(
        'ACC_STATE_INVALID',
        `The optimizer keeps a [${held.shape.join()}] for '${parameter.name}', of which ranks hold parts.`,
        { help: 'Use an optimizer whose state has the shape of the parameter, as Adam.' },
      );
    }
    return parts.map((part) => ({ ...part, name: `${folder}/${part.name ?? this.nameOf(parameter)}` }));
  }
}
