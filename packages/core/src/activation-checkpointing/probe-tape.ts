import { clone, keep, type Tensor } from '@tensorflow/tfjs-core';
import type { EngineInternals, TapeNode } from '@acc/tfjs-internals';
import { inputOf } from '../gradient-driver/tape.js';

/** An outer tensor that a function used. */
export interface Taken {
  readonly tensor: Tensor;
  /** A clone that holds the tensor's data at that time. */
  readonly held: Tensor;
}

/** A tape that records the inputs and outputs of operators, and saves nothing. */
export interface ProbeTape {
  readonly nodes: TapeNode[];
  /** The outer tensors that were used, in the order of first use. */
  readonly taken: readonly Taken[];
  /** Adds `tensor` to the used tensors. */
  take(tensor: Tensor): void;
  /** Disposes the tensors that inner gradients saved. */
  end(): void;
}

/** Create it at the point where its tape becomes the active one. */
export function probeTape(engine: EngineInternals): ProbeTape {
  const { state } = engine;
  const depth = state.gradientDepth;
  const nodes: TapeNode[] = [];
  const known = new Set<number>();
  const taken: Taken[] = [];
  let isTaking = false;
  const take = (tensor: Tensor) => {
    if (known.has(tensor.id)) return;
    known.add(tensor.id);
    isTaking = true;
    taken.push({ tensor, held: keep(clone(tensor)) });
    isTaking = false;
  };
  const free = ({ saved }: TapeNode) => {
    for (const tensor of saved ?? []) tensor.dispose();
  };
  const add = Array.prototype.push;
  /**
   * The copies that inner gradients made of an operator's inputs and results, before the operator
   * is on the tape.
   */
  const copied: Tensor[] = [];
  nodes.push = (node: TapeNode) => {
    const isInnerGradient = state.gradientDepth > depth;
    const isCopy = state.kernelDepth > 0;
    if (isTaking || (isCopy && !isInnerGradient)) return nodes.length;
    for (const { id } of node.outputs) known.add(id);
    copied.push(...inputsOf(node));
    if (!isCopy) for (const tensor of copied.splice(0)) take(tensor);
    if (!isInnerGradient) free(node);
    return add.call(nodes, node);
  };
  return { nodes, taken, take, end: () => nodes.forEach(free) };
}

function inputsOf({ inputs }: TapeNode): Tensor[] {
  return Object.keys(inputs).flatMap((name) => inputOf(inputs, name) ?? []);
}
