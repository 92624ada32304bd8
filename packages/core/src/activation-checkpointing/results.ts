import { clone, type Tensor } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import type { TapeNode } from '@acc/tfjs-internals';
import { mapNested, type Nested } from '../nested/nested.js';

/**
 * What a checkpointed function gives, with copies of tensors that it has only handed on.
 *
 * @param made Ids of the tensors that its operators made.
 */
export function ownResult<R extends Nested>(result: R, made: ReadonlySet<number>): R {
  if (typeof (result as { then?: unknown } | null | undefined)?.then === 'function') {
    throw new AccError('ACC_CHECKPOINT_ASYNC', 'A checkpointed function must not be asynchronous.', {
      help: 'Give checkpoint a function that returns tensors, as tf.tidy takes it.',
    });
  }
  return mapNested(result, (tensor) => (made.has(tensor.id) ? tensor : clone(tensor)));
}

/** Its tensors, each once. */
export function tensorsOf(result: Nested): Tensor[] {
  const found = new Set<Tensor>();
  mapNested(result, (tensor) => {
    found.add(tensor);
    return tensor;
  });
  return [...found];
}

/** Ids of what the operators of `nodes` made. */
export function madeBy(nodes: readonly TapeNode[]): Set<number> {
  return new Set(nodes.flatMap(({ outputs }) => outputs.map(({ id }) => id)));
}
