import type { Callback, History } from '@acc/tfjs-internals';

/** A callback that awaits `atBoundary` after each batch and at the end. */
export function boundaryCallback(atBoundary: (isEnd?: boolean) => Promise<void>): Callback {
  const nothing = () => Promise.resolve();
  return {
    setParams() {},
    setModel() {},
    onTrainBegin: nothing,
    onTrainEnd: () => atBoundary(true),
    onEpochBegin: nothing,
    onEpochEnd: nothing,
    onBatchBegin: nothing,
    onBatchEnd: () => atBoundary(),
  };
}

/** One call of the training loop of tfjs-layers. */
export interface LoopCall {
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** The number of batches of its first epoch that were trained before it. */
  readonly firstBatch: number;
}

/** Wraps a user's callback so that a training in several calls looks like a single one. */
export function callbackOfCall<C extends Callback>(
  callback: C,
  { isFirst, isLast, firstBatch }: LoopCall,
): C {
  if (isFirst && isLast && firstBatch === 0) return callback;
  const inPlace: Partial<Callback> = {
    ...(!isFirst && { onTrainBegin: () => Promise.resolve() }),
    ...(!isLast && { onTrainEnd: () => Promise.resolve() }),
    onBatchBegin: (batch, logs) => callback.onBatchBegin(batch + firstBatch, logs),
    onBatchEnd: (batch, logs) => callback.onBatchEnd(batch + firstBatch, logs),
  };
  return withMembers(callback, inPlace);
}

/** Copies `callback` and replaces some of its functions. */
function withMembers<C extends object>(callback: C, members: Partial<Callback>): C {
  return new Proxy(callback, {
    get(target, key) {
      const own = members[key as keyof Callback] ?? (Reflect.get(target, key) as unknown);
      return typeof own === 'function' ? (own.bind(target) as unknown) : own;
    },
  });
}

/**
 * Adds a callback that sets `size` in each batch's logs before any other callback reads it.
 * tfjs-layers' own mean over the epoch, and all later callbacks, get the same logs object.
 *
 * @param size The number of samples of the current batch on all ranks. Undefined if it is unknown.
 */
export function withBatchSizes(callbacks: unknown, size: () => number | undefined): object[] {
  const [first = {}, ...rest] = (callbacks == null ? [] : [callbacks].flat()) as Partial<Callback>[];
  const onBatchBegin: Callback['onBatchBegin'] = async (batch, logs) => {
    const samples = size();
    if (samples !== undefined) Object.assign(logs!, { size: samples });
    await first.onBatchBegin?.(batch, logs);
  };
  // tfjs-layers recognizes its own callbacks by their class. Any other object is treated as a
  // record of functions.
  const hearing =
    'setParams' in first
      ? withMembers(first, { onBatchBegin })
      : (Object.create(first, { onBatchBegin: { value: onBatchBegin } }) as object);
  return [hearing, ...rest];
}

/** Inserts the history of an earlier call before that of a later call. */
export function prependHistory(earlier: History, later: History): void {
  later.epoch.unshift(...earlier.epoch);
  for (const [key, values] of Object.entries(earlier.history)) {
    later.history[key] = [...values, ...(later.history[key] ?? [])];
  }
}
