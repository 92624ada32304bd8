import type { Variable } from '@tensorflow/tfjs-core';
import type { Collective } from '../collective/collective.js';
import type { KernelLayer } from '../kernel-layer/kernel-layer.js';
import type { MeshAxis } from '../collective/mesh.js';

/** How a variable may be divided: into equal ranges of indices along a dim, one for each rank of an axis. */
export interface Cut {
  readonly dim: number;
  readonly axis: MeshAxis;
  /** The number of equal matrices side by side along the dim, of which each is divided. Default 1. */
  readonly times?: number;
  /** Units that must not be divided between ranks, for example heads. */
  readonly units?: readonly { readonly name: string; readonly count: number }[];
  /** Whether the variable stays whole if the ranks cannot share it equally. Default false: an error. */
  readonly isOptional?: boolean;
}

/** This rank's part of a variable that is cut. */
export interface LocalPart {
  /**
   * `[length]`: the elements of this rank, row-major. Operators use it in place of the variable, and
   * gradient computations that ask for the variable's gradient give that of `own`.
   */
  readonly own: Variable;
  /** The ranks that have the other parts, in their order. */
  readonly group: Collective;
  readonly kernels: Pick<KernelLayer, 'recorder'>;
}

const cuts = new WeakMap<Variable, Cut>();
const parts = new WeakMap<Variable, LocalPart>();

/**
 * Says that operators that use `variable` can do with one rank's part of it. Strategies divide it if
 * the mesh has the axis; others keep it whole. Undefined: no part suffices.
 */
export function markCut(variable: Variable, cut: Cut | undefined): void {
  if (cut) cuts.set(variable, cut);
  else cuts.delete(variable);
}

export function cutOf(variable: Variable): Cut | undefined {
  return cuts.get(variable);
}

/** Called by the strategy that divides a variable. Undefined: it is whole again. */
export function holdPart(variable: Variable, part: LocalPart | undefined): void {
  if (part) parts.set(variable, part);
  else parts.delete(variable);
}

/** Undefined if this rank has the whole variable. */
export function localPartOf(variable: object): LocalPart | undefined {
  return parts.get(variable as Variable);
}
