import { clone, keep, Variable, type Tensor } from '@tensorflow/tfjs-core';
import type { EngineInternals, TapeNode } from '@acc/tfjs-internals';
import { freeSaved, type StandIn } from '../gradient-driver/packed-tensors.js';
import type { TapeParticipants } from '../gradient-driver/tape-participants.js';
import { inputOf } from '../gradient-driver/tape.js';

/** An outer tensor that a function used. */
export interface CapturedTensor {
  readonly tensor: Tensor;
  /** A clone that holds the tensor's data at that time. Undefined for a variable that was packed: hooks bring its values. */
  readonly held: Tensor | undefined;
}

/** A tape that records the inputs and outputs of operators, and saves nothing. */
export interface ProbeTape {
  readonly nodes: TapeNode[];
  /** The outer tensors that were used, in the order of first use. */
  readonly taken: readonly CapturedTensor[];
  /** Of variables that were packed. */
  readonly standIns: readonly StandIn[];
  /** Takes `tensor`, used or not. */
  take(tensor: Tensor): void;
  /** Disposes the tensors that inner gradients saved. */
  end(): void;
}

/** To be made where its tape is to become the active one. */
export function probeTape(engine: EngineInternals, participants: TapeParticipants | undefined): ProbeTape {
  const { state } = engine;
  const depth = state.gradientDepth;
  const nodes: TapeNode[] = [];
  const known = new Set<number>();
  const taken: CapturedTensor[] = [];
  const standIns: StandIn[] = [];
  let isTaking = false;
  const take = (tensor: Tensor) => {
    if (known.has(tensor.id)) return;
    known.add(tensor.id);
    const standIn = tensor instanceof Variable ? participants?.packVariable(tensor) : undefined;
    if (standIn) standIns.push(standIn);
    isTaking = true;
    taken.push({ tensor, held: standIn ? undefined : keep(clone(tensor)) });
    isTaking = false;
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
    if (!isInnerGradient) freeSaved(node);
    return add.call(nodes, node);
  };
  return { nodes, taken, standIns, take, end: () => nodes.forEach(freeSaved) };
}

function inputsOf({ inputs }: TapeNode): Tensor[] {
  return Object.keys(inputs).flatMap((name) => inputOf(inputs, name) ?? []);
}
