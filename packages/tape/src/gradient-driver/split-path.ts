import type { Tensor } from '@tensorflow/tfjs-core';
import { isComputedAgain, type Path, type PathNode } from './tape.js';

/** A path in two parts, which are walked one after the other. */
export interface SplitPath {
  /** The nodes that lead to the given tensors. */
  readonly first: Path;
  /** The nodes that lead to other tensors only. */
  readonly rest: Path;
}

/**
 * Splits a path into what leads to `xs` and the rest. A node may be in both, with different inputs:
 * a product of an activation and a weight. A node that is computed again in backward is walked once,
 * with all its inputs.
 */
export function splitPath(path: Path, xs: readonly Tensor[]): SplitPath {
  const fromX = new Set(xs.map(({ id }) => id));
  const first: PathNode[] = [];
  const rest: PathNode[] = [];
  for (const step of path.nodes) {
    const { node, inputs } = step;
    const leading = inputs.filter(([, { id }]) => fromX.has(id));
    if (leading.length === 0) {
      rest.push(step);
      continue;
    }
    for (const { id } of node.outputs) fromX.add(id);
    const isWhole = isComputedAgain(node) || leading.length === inputs.length;
    first.push(isWhole ? step : { node, inputs: leading });
    if (!isWhole) rest.push({ node, inputs: inputs.filter((input) => !leading.includes(input)) });
  }
  return { first: pathOf(first), rest: pathOf(rest) };
}

function pathOf(nodes: readonly PathNode[]): Path {
  const uses = new Map<number, number>();
  for (const { inputs } of nodes) for (const [, { id }] of inputs) uses.set(id, (uses.get(id) ?? 0) + 1);
  return { nodes, uses };
}
