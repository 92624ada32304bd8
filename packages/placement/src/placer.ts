import type { NamedTensorMap, Optimizer, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Collective, ListMath, Strategy } from '@acc/contract';
import type { DistributedVariable } from './distributed-variable.js';

/** The members of a strategy that a placer has itself. In them it calls its inner strategy. */
export const OWN_MEMBERS = [
  'name',
  'traits',
  'attach',
  'prepareVariables',
  'prepareLayers',
  'prepareOptimizer',
  'tape',
  'stages',
  'beginReduction',
  'synchronize',
  'state',
  'detach',
] as const satisfies readonly (keyof Strategy)[];

/** An update of variables that an axis distributes. */
export interface DistributedUpdate<V extends DistributedVariable = DistributedVariable> {
  readonly optimizer: Optimizer;
  /** This rank's elements of all gradients of the update, also of variables that no axis distributes. */
  readonly grads: NamedTensorMap;
  /** The variables of the update that the axis distributes, by the names that programs know. */
  readonly distributed: ReadonlyMap<string, V>;
}

/** Computes with gradients that may not be in memory. */
export interface GradientLists extends Pick<ListMath, 'norm'> {
  /** Whether `isTrue` holds for each gradient. */
  every(grads: readonly Tensor[], isTrue: (grad: Tensor) => boolean): boolean;
  /** See `Strategy.changeGradients`. */
  change(grads: readonly Tensor[], change: (list: Tensor[]) => Tensor[]): Tensor[];
}

/**
 * A parallelism that distributes variables along one axis of the mesh. It has what is its own: where
 * variables lie, how passes use them, and how gradients are reduced. `placedStrategy` makes a strategy
 * of it, and has the rest once for all of them: norms, clipping, updates, reads and checkpoints.
 */
export interface Placer<V extends DistributedVariable = DistributedVariable> extends Pick<
  Strategy,
  (typeof OWN_MEMBERS)[number]
> {
  /** Combines gradients over the other axes. It sees `local` in place of what this axis distributes. */
  readonly inner: Strategy;
  /** The ranks along the axis. Only after `attach`. */
  readonly group: Collective;
  /** The variable whose `full` this is. Undefined if every rank along the axis has all elements. */
  distributed(variable: Variable): V | undefined;
  /** Prepares `local` to be read, or to get other values: takes over what a program has assigned to `full`. */
  settle(variable: V): void;
  /**
   * All elements, on every rank along the axis. Every rank calls it. The caller disposes them.
   *
   * @param local Makes the elements of `local`, for the placer to dispose. Every rank along the inner
   * axes calls it, or none.
   */
  materialize(variable: V, local: () => Tensor): Tensor;
  /**
   * A gradient in the shape of `full` whose other elements are gathered when they are read.
   *
   * @param local This rank's elements. The placer takes them over.
   */
  expose(variable: V, local: Tensor): Tensor;
  /** Whether a gradient is a result of {@link expose}, which then gathers its values. */
  isExposed(grad: Tensor): boolean;
  /** This rank's elements of a gradient for which {@link isExposed} is true. The caller disposes them. */
  exposed(variable: V, grad: Tensor): Tensor;
  /** Given while the axis keeps gradients elsewhere than in memory. */
  readonly lists?: GradientLists | undefined;
  /**
   * Checks an update, and adds entries that optimizers need in the same places on every rank. Absent:
   * the record stays as it is.
   *
   * @param variableOf The variable of a name, as this axis knows it.
   */
  completeUpdate?(grads: NamedTensorMap, variableOf: (name: string) => Variable | undefined): NamedTensorMap;
  /** Runs an update, before and after which the axis has something to do. `run` may throw. */
  update?(update: DistributedUpdate<V>, run: () => void): void;
  /** Runs `apply` while tfjs knows `local` by the name of its variable. Absent: `apply()`. */
  applyUpdate?(update: DistributedUpdate<V>, apply: () => void): void;
}
