import { clone, type Tensor } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import type { TapeNode } from '@acc/tfjs-internals';
import { mapNested, type Nested } from '../nested.js';

/**
 * The result of a checkpointed function. Tensors that the function only passed through are copied.
 *
 * @param made The ids of the tensors that its operators created.
 */
export function copiedResult<R extends Nested>(result: R, created: ReadonlySet<number>): R {
  if (typeof (result as { then?: unknown } | null | undefined)?.then === 'function') {
    throw new AccError('ACC_CHECKPOINT_ASYNC', 'A checkpointed function must not be asynchronous.', {
      help: 'Pass a function that returns tensors, as for tf.tidy.',
    });
  }
  return mapNested(result, (tensor) => (created.has(tensor.id) ? tensor : clone(tensor)));
}

/** The tensors of a result, each once. */
export function tensorsOf(result: Nested): Tensor[] {
  const found = new Set<Tensor>();
  mapNested(result, (tensor) => {
    found.add(tensor);
    return tensor;
  });
  return [...found];
}

/** The ids of the tensors that the operators of `nodes` created. */
export function madeBy(nodes: readonly TapeNode[]): Set<number> {
  return new Set(nodes.flatMap(({ outputs }) => outputs.map(({ id }) => id)));
}
