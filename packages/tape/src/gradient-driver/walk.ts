import { _FusedMatMul, add, BatchMatMul, clone, util, type Tensor } from '@tensorflow/tfjs-core';
import type { EngineInternals, TapeNode } from '@acc/tfjs-internals';
import { freeSaved, unpackSaved } from './packed-tensors.js';
import type { Path, PathNode } from './tape.js';
import type { TapeParticipants } from './tape-participants.js';

export interface WalkOptions {
  readonly engine: EngineInternals;
  readonly path: Path;
  /** The initial gradients of the results, by tensor id. */
  readonly seeds: ReadonlyMap<number, Tensor>;
  /** Ids of the tensors whose gradients are requested. */
  readonly wanted: ReadonlySet<number>;
  /**
   * Functions that take over gradients, by tensor id, as soon as they are final. Other gradients
   * stay in the result.
   */
  readonly finals: ReadonlyMap<number, (grad: Tensor) => void>;
  /** False while an outer gradient computation still needs the tensors of this one. */
  readonly freesEarly: boolean;
  /** Absent if there are no participants. */
  readonly participants?: TapeParticipants | undefined;
  /**
   * Functions that run the gradient function of a tensor, by its id, if its gradient is one matrix
   * product.
   */
  readonly products?: ReadonlyMap<number, (gradient: () => Tensor) => Tensor>;
  /**
   * Nodes that are walked again later, for other inputs. They keep what they have saved, and give
   * the gradients of their outputs here.
   */
  readonly later?: ReadonlyMap<TapeNode, (dys: readonly (Tensor | null)[]) => void>;
}

/**
 * Walks the tape from the last operator to the first, as tfjs does. It adds gradients in the same
 * order, so that the numbers are identical. Unlike tfjs it frees gradients and saved tensors
 * immediately after their last use. Returns the gradients of the requested tensors, by id.
 */
export function walkBackward(options: WalkOptions): Map<number, Tensor> {
  const { path, seeds, finals, participants } = options;
  const grads = new Map(seeds);
  const remaining = new Map(path.uses);
  for (let i = path.nodes.length - 1; i >= 0; i--) {
    const step = path.nodes[i]!;
    if (participants) participants.aroundGradient(step.node, () => backOneNode(step, grads, options));
    else backOneNode(step, grads, options);
    for (const [, { id }] of step.inputs) {
      const take = finals.get(id);
      if (!take) continue;
      const left = remaining.get(id)! - 1;
      remaining.set(id, left);
      if (left > 0 || seeds.has(id)) continue;
      take(owned(grads.get(id)!, options));
      grads.delete(id);
    }
  }
  return grads;
}

/**
 * Adds the gradients of one operator's inputs to `grads`. Frees tensors that only this operator
 * needed.
 */
function backOneNode(step: PathNode, grads: Map<number, Tensor>, options: WalkOptions): void {
  if (options.participants) unpackSaved(step.node);
  addInputGradients(step, grads, options);
  options.later?.get(step.node)?.(step.node.outputs.map(({ id }) => grads.get(id) ?? null));
  freeAfter(step.node, grads, options);
}

function addInputGradients(
  { node, inputs }: PathNode,
  grads: Map<number, Tensor>,
  options: WalkOptions,
): void {
  const dys = node.outputs.map(({ id }) => grads.get(id) ?? null);
  const dxs = inputGradients({ node, inputs }, dys, options);
  inputs.forEach(([name, x], i) => {
    const dx = dxs[i]!;
    requireFits(node, name, x, dx);
    const before = grads.get(x.id);
    if (before === undefined) {
      grads.set(x.id, dx);
    } else {
      grads.set(x.id, add(before, dx));
      // A result may also be an input of other operators; its gradient is the caller's.
      if (isOwn(before, options)) before.dispose();
      dx.dispose();
    }
  });
}

/**
 * The gradients of a node's inputs. Each can be disposed on its own. Intermediate tensors of
 * gradient functions are freed after they have run: those made for one input after that input, and
 * those made for all inputs at the end.
 */
function inputGradients(
  { node, inputs }: PathNode,
  dys: readonly (Tensor | null)[],
  options: WalkOptions,
): Tensor[] {
  const { engine } = options;
  // A gradient function may return its argument, a saved tensor, or one tensor for two inputs.
  const own = (dx: Tensor, others: readonly Tensor[]) =>
    dx.kept || dys.includes(dx) || others.includes(dx) ? clone(dx) : dx;
  if (inputs.length === 1) {
    const [input] = inputs as readonly [PathNode['inputs'][number]];
    return [
      engine.tidy('gradient', () =>
        own(gradientOf(node, input, gradientsOf(node, dys, inputs), options), []),
      ),
    ];
  }
  return engine.tidy('gradient', () => {
    const gradients = gradientsOf(node, dys, inputs);
    const dxs: Tensor[] = [];
    for (const input of inputs) {
      dxs.push(
        own(
          engine.tidy('gradient', () => gradientOf(node, input, gradients, options)),
          dxs,
        ),
      );
    }
    return dxs;
  });
}

function gradientsOf(
  node: TapeNode,
  dys: readonly (Tensor | null)[],
  inputs: PathNode['inputs'],
): Record<string, () => Tensor> {
  if (node.gradient) return node.gradient(dys, inputs);
  throw new Error(`Cannot compute gradient: gradient function not found for ${node.kernelName}.`);
}

function gradientOf(
  node: TapeNode,
  [name, x]: PathNode['inputs'][number],
  gradients: Record<string, () => Tensor>,
  options: WalkOptions,
): Tensor {
  const gradient = gradients[name];
  if (!gradient) {
    throw new Error(
      `Cannot backprop through input ${name}. Available gradients found: ${Object.keys(gradients).join(',')}.`,
    );
  }
  const ofProduct = isProduct(node, name, x, options) ? options.products?.get(x.id) : undefined;
  const dx = ofProduct ? ofProduct(gradient) : gradient();
  if (dx.dtype !== 'float32') {
    throw new Error(
      `Error in gradient for op ${node.kernelName}. The gradient of input ${name} must have 'float32' dtype, but has '${dx.dtype}'`,
    );
  }
  return dx;
}

/** Whether the gradient of a tensor is one matrix product, made anew, to which nothing else is added. */
function isProduct(
  { kernelName }: TapeNode,
  name: string,
  { id }: Tensor,
  { path, seeds }: Pick<WalkOptions, 'path' | 'seeds'>,
): boolean {
  const isFactor = name === 'a' || name === 'b';
  const isOfProduct = kernelName === BatchMatMul || kernelName === _FusedMatMul;
  return isFactor && isOfProduct && path.uses.get(id) === 1 && !seeds.has(id);
}

function requireFits(node: TapeNode, name: string, x: Tensor, dx: Tensor): void {
  if (util.arraysEqual(dx.shape, x.shape)) return;
  throw new Error(
    `Error in gradient for op ${node.kernelName}. The gradient of input '${name}' has shape '${dx.shape.join(',')}', which does not match the shape of the input '${x.shape.join(',')}'`,
  );
}

/** Frees the tensors that only this operator needed. */
function freeAfter(node: TapeNode, grads: Map<number, Tensor>, options: WalkOptions): void {
  if (!options.freesEarly) return;
  for (const { id } of node.outputs) {
    const grad = grads.get(id);
    if (grad && !options.wanted.has(id)) {
      if (isOwn(grad, options)) grad.dispose();
      grads.delete(id);
    }
  }
  if (!options.later?.has(node)) freeSaved(node);
}

/**
 * Whether the walk's scope would free the tensor. False for the caller's dy and for a tensor that a
 * gradient function kept.
 */
function isOwn(grad: Tensor, { engine }: Pick<WalkOptions, 'engine'>): boolean {
  return !grad.kept && grad.scopeId === engine.state.activeScope.id;
}

/** The gradient as a tensor that may be disposed. */
export function owned(grad: Tensor, options: Pick<WalkOptions, 'engine'>): Tensor {
  return isOwn(grad, options) ? grad : clone(grad);
}
