import { all, isFinite, zerosLike, type NamedTensorMap, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective, KernelLayer } from '@acc/contract';
import type { CutVariable } from './cut-variable.js';

/** Whether a gradient has the elements of this rank's piece, or of a part of it. */
export function isPiece({ shape }: Tensor, { variable }: CutVariable): boolean {
  return shape.join() !== variable.shape.join();
}

export function areFinite(grads: readonly Tensor[], { lists }: KernelLayer): boolean {
  const filled = grads.filter(({ size }) => size > 0);
  // A norm is finite if all elements are, unless their squares are too large.
  const isSure = filled.length === 0 || Number.isFinite(lists.norm(filled).dataSync()[0]);
  return isSure || filled.every((grad) => all(isFinite(grad)).dataSync()[0] === 1);
}

export function disposeOthers(own: NamedTensorMap, grads: NamedTensorMap): void {
  for (const [name, grad] of Object.entries(own)) if (grad !== grads[name]) grad.dispose();
}

/**
 * Gives all ranks along the axis `tensor` the first one's gradients of whole variables. A reduction that
 * mixes gradients may have used those of pieces, which differ between these ranks. Takes `grads` over.
 */
export function ofFirstRank(
  grads: readonly (Tensor | null)[],
  isWhole: (index: number) => boolean,
  tensor: Collective,
): (Tensor | null)[] {
  const places = grads.flatMap((grad, i) => (grad && isWhole(i) ? [i] : []));
  if (places.length === 0) return [...grads];
  const own = places.map((i) => grads[i]!);
  const terms = tensor.rank === 0 ? own : own.map((grad) => zerosLike(grad));
  if (tensor.rank > 0) for (const grad of own) grad.dispose();
  const results = [...grads];
  tensor.allReduceCoalesced(terms, 'sum', { donate: true }).forEach((sum, k) => (results[places[k]!] = sum));
  return results;
}
