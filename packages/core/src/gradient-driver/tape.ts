import type { NamedTensorMap, Tensor } from '@tensorflow/tfjs-core';
import type { TapeNode } from './engine-internals.js';

/** The part of a tape that lies between the tensors asked for and the result. */
export interface Path {
  readonly nodes: readonly PathNode[];
  /** How often each tensor, by id, is an input of these nodes. */
  readonly uses: ReadonlyMap<number, number>;
}

export interface PathNode {
  readonly node: TapeNode;
  /** Its inputs that depend on the tensors asked for. */
  readonly inputs: readonly (readonly [name: string, input: Tensor])[];
}

/** Keeps the nodes that depend on one of `xs` and that `y` depends on, in their order. Linear in the tape. */
export function pathBetween(tape: readonly TapeNode[], xs: readonly Tensor[], y: Tensor): Path {
  const fromX = tensorsFrom(tape, xs);
  const toY = new Set([y.id]);
  const nodes: PathNode[] = [];
  const uses = new Map<number, number>();
  for (let i = tape.length - 1; i >= 0; i--) {
    const node = tape[i]!;
    if (!node.outputs.some(({ id }) => toY.has(id))) continue;
    const inputs = entries(node.inputs);
    for (const [, input] of inputs) toY.add(input.id);
    const dependent = inputs.filter(([, input]) => fromX.has(input.id));
    if (dependent.length === 0) continue;
    for (const [, { id }] of dependent) uses.set(id, (uses.get(id) ?? 0) + 1);
    nodes.push({ node, inputs: dependent });
  }
  return { nodes: nodes.reverse(), uses };
}

/** Ids of all tensors that depend on `xs`. */
function tensorsFrom(tape: readonly TapeNode[], xs: readonly Tensor[]): Set<number> {
  const reached = new Set(xs.map(({ id }) => id));
  for (const { inputs, outputs } of tape) {
    if (entries(inputs).some(([, input]) => reached.has(input.id))) {
      for (const { id } of outputs) reached.add(id);
    }
  }
  return reached;
}

function entries(inputs: NamedTensorMap): [string, Tensor][] {
  return Object.entries(inputs).filter(([, input]) => input != null);
}
