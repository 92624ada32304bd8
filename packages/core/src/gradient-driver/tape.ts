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
  const inputsOf = tape.map(({ inputs }) => entries(inputs));
  const fromX = new Set(xs.map(({ id }) => id));
  tape.forEach(({ outputs }, i) => {
    if (!inputsOf[i]!.some(([, input]) => fromX.has(input.id))) return;
    for (const { id } of outputs) fromX.add(id);
  });
  const toY = new Set([y.id]);
  const nodes: PathNode[] = [];
  const uses = new Map<number, number>();
  for (let i = tape.length - 1; i >= 0; i--) {
    const node = tape[i]!;
    if (!node.outputs.some(({ id }) => toY.has(id))) continue;
    for (const [, input] of inputsOf[i]!) toY.add(input.id);
    const inputs = inputsOf[i]!.filter(([, input]) => fromX.has(input.id));
    if (inputs.length === 0) continue;
    for (const [, { id }] of inputs) uses.set(id, (uses.get(id) ?? 0) + 1);
    nodes.push({ node, inputs });
  }
  return { nodes: nodes.reverse(), uses };
}

function entries(inputs: NamedTensorMap): [string, Tensor][] {
  return Object.entries(inputs).filter(([, input]) => input != null);
}
