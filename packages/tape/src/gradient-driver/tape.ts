import type { NamedTensorMap, Tensor, Variable } from '@tensorflow/tfjs-core';
import { AccError, localPartOf } from '@acc/contract';
import type { TapeNode } from '@acc/tfjs-internals';

/** The part of a tape between the given tensors and the results. */
export interface Path {
  readonly nodes: readonly PathNode[];
  /** The number of times that each tensor, by id, is an input of these nodes. */
  readonly uses: ReadonlyMap<number, number>;
}

export interface PathNode {
  readonly node: TapeNode;
  /** Its inputs that depend on the given tensors. */
  readonly inputs: readonly (readonly [name: string, input: Tensor])[];
}

/**
 * The nodes that depend on one of `xs` and on which one of `ys` depends, in tape order. Linear in
 * the length of the tape.
 */
export function pathBetween(tape: readonly TapeNode[], xs: readonly Tensor[], ys: readonly Tensor[]): Path {
  const fromX = new Set(xs.map(({ id }) => id));
  for (const { inputs, outputs } of tape) {
    if (hasAny(inputs, fromX)) for (const { id } of outputs) fromX.add(id);
  }
  const toY = new Set(ys.map(({ id }) => id));
  const nodes: PathNode[] = [];
  const uses = new Map<number, number>();
  for (let i = tape.length - 1; i >= 0; i--) {
    const node = tape[i]!;
    if (!node.outputs.some(({ id }) => toY.has(id))) continue;
    const inputs: [string, Tensor][] = [];
    for (const name of Object.keys(node.inputs)) {
      const input = inputOf(node.inputs, name);
      if (!input) continue;
      toY.add(input.id);
      if (!fromX.has(input.id)) continue;
      inputs.push([name, input]);
      uses.set(input.id, (uses.get(input.id) ?? 0) + 1);
    }
    if (inputs.length > 0) nodes.push({ node, inputs });
  }
  return { nodes: nodes.reverse(), uses };
}

/** @throws Error The one of tfjs, if the results do not depend on the given tensors. */
export function requireDependence({ nodes }: Path): void {
  if (nodes.length > 0) return;
  throw new Error(
    'Cannot compute gradient of y=f(x) with respect to x. Make sure that the f you passed encloses all operations that lead from x to y.',
  );
}

/** The tensors that operators use in place of the given ones: this rank's part of a variable that is cut. */
export function localInputsOf(xs: readonly Tensor[]): Tensor[] {
  return xs.map((x) => localPartOf(x)?.own ?? x);
}

/**
 * Requires that no operator on the way to `ys` uses the whole of a variable of which this rank has a
 * part: that gradient would be lost.
 *
 * @throws AccError `ACC_CUT_VARIABLE_USED`.
 */
export function requireLocalOnly(
  tape: readonly TapeNode[],
  xs: readonly Tensor[],
  ys: readonly Tensor[],
): void {
  const cut = xs.filter((x) => localPartOf(x));
  if (cut.length === 0) return;
  const { uses } = pathBetween(tape, cut, ys);
  const used = cut.filter(({ id }) => uses.has(id)) as Variable[];
  if (used.length === 0) return;
  throw new AccError(
    'ACC_CUT_VARIABLE_USED',
    `The loss uses all of '${used[0]!.name}', of which each rank has a part. Its gradient is not known then.`,
    { help: 'Use such weights only through their layer. Remove penalties on them, or the axis of the mesh.' },
  );
}

function hasAny(inputs: NamedTensorMap, ids: ReadonlySet<number>): boolean {
  for (const name of Object.keys(inputs)) {
    const input = inputOf(inputs, name);
    if (input && ids.has(input.id)) return true;
  }
  return false;
}

/** Kernels may have optional inputs, which the tfjs type does not show. */
export function inputOf(inputs: NamedTensorMap, name: string): Tensor | null | undefined {
  return inputs[name];
}

/**
 * A node whose operators are recomputed in backward. Each of them has its own node on another tape.
 */
export interface NodeComputedAgain extends TapeNode {
  readonly isComputedAgain: true;
}

export const isComputedAgain = (node: TapeNode): boolean => 'isComputedAgain' in node;
