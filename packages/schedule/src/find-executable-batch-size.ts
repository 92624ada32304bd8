import type { TensorContainer } from '@tensorflow/tfjs-core';
import { AccError, checkKeys, isAccError } from '@acc/contract';
import { releaseCachedMemory } from '@acc/native';
import { engineInternals } from '@acc/tfjs-internals';

export interface FindBatchSizeOptions {
  /** The first batch size to try. */
  readonly startingBatchSize: number;
  /** The size to try after `batchSize` ran out of memory: a smaller whole number. Default: half of it. */
  readonly reduce?: (batchSize: number) => number;
  /** Called after an attempt ran out of memory and its tensors were disposed. */
  readonly onOutOfMemory?: (batchSize: number) => void;
}

/**
 * Calls `fn` with `startingBatchSize`, and with a smaller one each time memory runs out. Returns
 * the first result. All tensors of a failed attempt are disposed, including variables and kept tensors,
 * so `fn` must create the model and optimizer itself. Other errors are thrown. The tensors of the
 * successful attempt are kept.
 *
 * @param fn May be asynchronous.
 * @throws AccError `ACC_NO_BATCH_SIZE` if no size fits, down to 1 or to where `reduce` returns no size above 0;
 * `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export async function findExecutableBatchSize<T>(
  fn: (batchSize: number) => T,
  options: FindBatchSizeOptions,
): Promise<Awaited<T>> {
  checkKeys('findExecutableBatchSize', options, ['startingBatchSize', 'reduce', 'onOutOfMemory']);
  const { startingBatchSize, reduce = halved, onOutOfMemory } = options;
  if (!(Number.isSafeInteger(startingBatchSize) && startingBatchSize > 0))
    throw invalid('startingBatchSize', `${startingBatchSize}, not a whole number from 1`);
  if (typeof reduce !== 'function') throw invalid('reduce', `${String(reduce)}, not a function`);
  let cause: unknown;
  for (let batchSize = startingBatchSize; batchSize >= 1; batchSize = smaller(batchSize, reduce)) {
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
  throw new AccError('ACC_NO_BATCH_SIZE', `None of the batch sizes that were tried fits into memory.`, {
    help: 'Use a smaller model, 16-bit floats, or a device with more memory.',
    cause,
    details: { startingBatchSize },
  });
}

const halved = (batchSize: number): number => Math.floor(batchSize / 2);

/** @throws AccError `ACC_INVALID_OPTION` for a size that is not smaller: the search would not end. */
function smaller(batchSize: number, reduce: (batchSize: number) => number): number {
  const next = reduce(batchSize);
  if (Number.isSafeInteger(next) && next < batchSize) return next;
  throw invalid(
    'reduce',
    `a function that returns ${String(next)} for ${batchSize}, not a smaller whole number`,
  );
}

function invalid(option: string, problem: string): AccError {
  return new AccError('ACC_INVALID_OPTION', `findExecutableBatchSize: ${option} is ${problem}.`, {
    help: 'For example: findExecutableBatchSize(train, { startingBatchSize: 256, reduce: (size) => size - 16 })',
    details: { path: [option] },
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
      const created = [...state.activeScope.track];
      tfjs.endScope();
      for (const tensor of created) tensor.dispose();
      for (const variable of Object.values(state.registeredVariables)) {
        if (!variables.has(variable)) variable.dispose();
      }
    },
  };
}
