import { clone, keep, type Tensor } from '@tensorflow/tfjs-core';
import type { EngineInternals, TapeNode } from '@acc/tfjs-internals';
import { inputOf } from '../gradient-driver/tape.js';

/** A tensor that a function takes from outside. */
export interface Taken {
  readonly tensor: Tensor;
  /** Keeps the data that it had then. */
  readonly held: Tensor;
}

/** A tape on which operators leave what they take and make, and save nothing. */
export interface ProbeTape {
  readonly nodes: TapeNode[];
  /** What was taken from outside, in the order of its first use. */
  readonly taken: readonly Taken[];
  /** Takes `tensor`, used or not. */
  take(tensor: Tensor): void;
  /** Frees what gradients inside have saved. */
  end(): void;
}

/** To be made where its tape is to become the active one. */
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
  /** What gradients inside have copied of an operator's inputs and results, before it is on the tape itself. */
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
