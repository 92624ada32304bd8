import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { NamedTensor } from '@acc/checkpoint';
import { AccError, type Strategy, type TensorPart } from '@acc/contract';
import { weightName } from '../prepare/prepare-model.js';

/** A whole tensor of which this rank holds all elements or some. */
export interface NamedShape {
  readonly name: string;
  readonly shape: readonly number[];
}

/** Names in a checkpoint for the tensors of a run, and which parts of whole tensors they are. */
export class NamedTensors {
  readonly #strategy: Strategy;
  readonly #names = new Map<Variable, string>();
  readonly #added: NamedTensor[] = [];

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

  /** The whole tensors that the elements of a parameter are of. */
  wholesOf(parameter: Variable): NamedShape[] {
    const name = this.nameOf(parameter);
    const parts = this.#strategy.partsOf?.(parameter);
    if (!parts) return [{ name, shape: parameter.shape }];
    const shapes = new Map(parts.map((part) => [part.name ?? name, part.shape]));
    return Array.from(shapes, ([whole, shape]) => ({ name: whole, shape }));
  }

  /** Whether ranks hold parts of the parameter. */
  isInParts(parameter: Variable): boolean {
    return this.#strategy.partsOf?.(parameter) !== undefined;
  }

  /** What was added, for a save. */
  get added(): readonly NamedTensor[] {
    return this.#added;
  }

  /**
   * Has a save keep a parameter, or state of it, by name.
   *
   * @param folder What the names begin with.
   * @returns The names of the whole tensors, without the folder.
   * @throws AccError as {@link partsOf}.
   */
  add(tensor: Tensor, parameter: Variable, folder: string): string[] {
    const parts = this.partsOf(tensor, parameter, folder);
    if (!parts) return this.addWhole(tensor, this.nameOf(parameter), folder);
    this.#added.push({ name: `${folder}/${this.nameOf(parameter)}`, tensor, parts });
    return this.wholesOf(parameter).map(({ name }) => name);
  }

  /** The same for a tensor that is the same on every rank that has it. */
  addWhole(tensor: Tensor, name: string, folder: string): string[] {
    this.#added.push({ name: `${folder}/${name}`, tensor });
    return [name];
  }

  /**
   * The parts that `held`, a parameter or state of it, is made of; undefined: it is a whole tensor.
   *
   * @param storedName The name in the checkpoint of a whole tensor. Default: the same.
   * @throws AccError `ACC_STATE_INVALID` for state of a sharded parameter that has another shape.
   */
  partsOf(
    held: { readonly shape: readonly number[] },
    parameter: Variable,
    folder: string,
    storedName = (name: string) => name,
  ): TensorPart[] | undefined {
    const parts = this.#strategy.partsOf?.(parameter);
    if (!parts) return undefined;
    if (held.shape.join() !== parameter.shape.join()) {
      throw new AccError(
        'ACC_STATE_INVALID',
        `The optimizer keeps a [${held.shape.join()}] for '${parameter.name}', of which ranks hold parts.`,
        { help: 'Use an optimizer whose state has the shape of the parameter, as Adam.' },
      );
    }
    const own = this.nameOf(parameter);
    return parts.map((part) => ({ ...part, name: `${folder}/${storedName(part.name ?? own)}` }));
  }
}

/** Each name once, in the order of the lists. */
export function union(lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())];
}
