import type { Callback, History } from '@acc/tfjs-internals';

/** A callback that only waits for `atBoundary` after each batch. */
export function boundaryCallback(atBoundary: () => Promise<void>): Callback {
  const nothing = () => Promise.resolve();
  return {
    setParams() {},
    setModel() {},
    onTrainBegin: nothing,
    onTrainEnd: nothing,
    onEpochBegin: nothing,
    onEpochEnd: nothing,
    onBatchBegin: nothing,
    onBatchEnd: () => atBoundary(),
  };
}

/** Which part of a training tfjs-layers runs in one go. */
export interface Part {
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** Batches of its first epoch that came before it. */
  readonly firstBatch: number;
}

/** A user's callback that hears of a training in parts as of one. */
export function callbackOfPart<C extends Callback>(callback: C, { isFirst, isLast, firstBatch }: Part): C {
  if (isFirst && isLast && firstBatch === 0) return callback;
  const inPlace: Partial<Callback> = {
    ...(!isFirst && { onTrainBegin: () => Promise.resolve() }),
    ...(!isLast && { onTrainEnd: () => Promise.resolve() }),
    onBatchBegin: (batch, logs) => callback.onBatchBegin(batch + firstBatch, logs),
    onBatchEnd: (batch, logs) => callback.onBatchEnd(batch + firstBatch, logs),
  };
  return withMembers(callback, inPlace);
}

/** `callback` with other functions in the place of some of its own. */
function withMembers<C extends object>(callback: C, members: Partial<Callback>): C {
  return new Proxy(callback, {
    get(target, key) {
      const own = members[key as keyof Callback] ?? (Reflect.get(target, key) as unknown);
      return typeof own === 'function' ? (own.bind(target) as unknown) : own;
    },
  });
}

/**
 * Callbacks as tfjs-layers takes them, of which the first sets the `size` in each batch's logs before any of them reads it.
 * tfjs-layers' own mean over the epoch, and whoever hears of the batch later, get the same object.
 *
 * @param size Samples of the present batch on all ranks; undefined where nobody has counted them.
 */
export function withBatchSizes(callbacks: unknown, size: () => number | undefined): object[] {
  const [first = {}, ...rest] = (callbacks == null ? [] : [callbacks].flat()) as Partial<Callback>[];
  const onBatchBegin: Callback['onBatchBegin'] = async (batch, logs) => {
    const samples = size();
    if (samples !== undefined) Object.assign(logs!, { size: samples });
    await first.onBatchBegin?.(batch, logs);
  };
  // tfjs-layers knows its own callbacks by their class; what is none is a record of functions.
  const hearing =
    'setParams' in first
      ? withMembers(first, { onBatchBegin })
      : (Object.create(first, { onBatchBegin: { value: onBatchBegin } }) as object);
  return [hearing, ...rest];
}

/** Puts what an earlier part has come to before a later one's. */
export function prependHistory(earlier: History, later: History): void {
  later.epoch.unshift(...earlier.epoch);
  for (const [key, values] of Object.entries(earlier.history)) {
    later.history[key] = [...values, ...(later.history[key] ?? [])];
  }
}
