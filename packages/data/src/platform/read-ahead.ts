import { keep } from '@tensorflow/tfjs-core';
import type { Step } from '../batch-counts.js';
import { cloneTensors, disposeTensors, tensorsIn } from '../structure.js';

/**
 * Makes up to `count` batches while the loop computes. They are kept from scopes of the loop until
 * they are yielded.
 */
export async function* readAhead<T>(
  steps: AsyncGenerator<Step<T>>,
  count: number,
): AsyncGenerator<Step<T>, void, undefined> {
  const ahead: Promise<IteratorResult<Step<T>>>[] = [];
  const request = () => {
    // A generator answers calls in their order.
    const next = steps.next().then((result) => {
      if (!result.done) for (const x of tensorsIn(result.value.batch)) keep(x);
      return result;
    });
    // The error is thrown when it is the batch's turn.
    next.catch(() => {});
    ahead.push(next);
  };
  try {
    for (let i = 0; i < count; i++) request();
    for (;;) {
      request();
      const result = await ahead.shift()!;
      if (result.done) return;
      const { batch, counts, end } = result.value;
      // Clones belong to the scope of the loop, as those of a loader that does not read ahead.
      const own = cloneTensors(batch);
      disposeTensors(batch);
      yield { batch: own, counts, end };
    }
  } finally {
    const returned = steps.return(undefined);
    for (const result of await Promise.allSettled(ahead)) {
      if (result.status === 'fulfilled' && !result.value.done) disposeTensors(result.value.value.batch);
    }
    await returned;
  }
}
