import type { TensorContainer } from '@tensorflow/tfjs-core';
import { AccError, checkKeys, isAccError } from '@acc/contract';
import { releaseCachedMemory } from '@acc/native';
import { engineInternals } from '@acc/tfjs-internals';

export interface FindBatchSizeOptions {
  /** The first batch size to try. */
  readonly startingBatchSize: number;
  /** Called after an attempt ran out of memory and its tensors were disposed. */
  readonly onOutOfMemory?: (batchSize: number) => void;
}

/**
 * Calls `fn` with `startingBatchSize`, and with half of it each time memory runs out. Returns the
 * first result. All tensors of a failed attempt are disposed, including variables and kept tensors,
 * so `fn` must create the model and optimizer itself. Other errors are thrown. The tensors of the
 * successful attempt are kept.
 *
 * @param fn May be asynchronous.
 * @throws AccError `ACC_NO_BATCH_SIZE` if even a batch size of 1 does not fit;
 * `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export async function findExecutableBatchSize<T>(
  fn: (batchSize: number) => T,
  options: FindBatchSizeOptions,
): Promise<Awaited<T>> {
  checkKeys('findExecutableBatchSize', options, ['startingBatchSize', 'onOutOfMemory']);
  const { startingBatchSize, onOutOfMemory } = options;
  if (!(Number.isSafeInteger(startingBatchSize) && startingBatchSize > 0)) {
    throw new AccError(
      'ACC_INVALID_OPTION',
      `findExecutableBatchSize: startingBatchSize is ${startingBatchSize}, not a whole number from 1.`,
      { help: 'Give the largest batch to try, for example 256.', details: { path: ['startingBatchSize'] } },
    );
  }
  let cause: unknown;
  for (let batchSize = startingBatchSize; batchSize >= 1; batchSize = Math.floor(batchSize / 2)) {
    const attempt = beginAttempt();
    try {
      const result = await fn(batchSize);
      attempt.keep();
      return result;
    } catch (error) {
      if (!isOutOfMemory(error)) {
        attempt.keep();
        throw error;
      }
      cause = error;
      attempt.undo();
      if (isAccError(error)) releaseCachedMemory();
      onOutOfMemory?.(batchSize);
    }
  }
  throw new AccError('ACC_NO_BATCH_SIZE', `Even a batch of one sample does not fit into memory.`, {
    help: 'Use a smaller model, 16-bit floats, or a device with more memory.',
    cause,
    details: { startingBatchSize },
  });
}

/** JavaScript engines report exhausted memory as a RangeError. */
function isOutOfMemory(error: unknown): boolean {
  if (isAccError(error, 'ACC_OUT_OF_MEMORY')) return true;
  return (
    error instanceof RangeError && /allocation failed|invalid (typed )?array length/i.test(error.message)
  );
}

interface Attempt {
  /** Keeps all tensors created since. */
  keep(): void;
  /** Disposes all tensors created since. */
  undo(): void;
}

function beginAttempt(): Attempt {
  const tfjs = engineInternals();
  const { state } = tfjs;
  const variables = new Set(Object.values(state.registeredVariables));
  tfjs.startScope('findExecutableBatchSize');
  const depth = state.scopeStack.length;
  const closeInner = () => {
    while (state.scopeStack.length > depth) tfjs.endScope();
  };
  return {
    keep() {
      closeInner();
      tfjs.endScope(state.activeScope.track as TensorContainer);
    },
    undo() {
      closeInner();
      const made = [...state.activeScope.track];
      tfjs.endScope();
      for (const tensor of made) tensor.dispose();
      for (const variable of Object.values(state.registeredVariables)) {
        if (!variables.has(variable)) variable.dispose();
      }
    },
  };
}
