/**
 * A part of a collective in which this thread waited, or started work.
 *
 * @param name What the call was, such as `allReduce of float32 [10]`. Made when it is asked for.
 * @param ms How long the thread was in it, in milliseconds. Work that other threads do meanwhile is
 * not in it.
 */
export type CollectiveObserver = (name: () => string, ms: number) => void;

const observing: { observer?: CollectiveObserver | undefined } = {};

/**
 * Calls `observer` after each part of every collective in this process, also after one that failed.
 * Undefined ends it. There is one observer at a time, which must not call collectives.
 *
 * @returns The observer that it replaces.
 */
export function observeCollectives(observer: CollectiveObserver | undefined): CollectiveObserver | undefined {
  const before = observing.observer;
  observing.observer = observer;
  return before;
}

/** Called before a part begins. Returns what is to be called at its end; undefined if nobody observes. */
export function beginObserved(): ((name: () => string) => void) | undefined {
  const { observer } = observing;
  if (!observer) return undefined;
  const start = performance.now();
  return (name) => observer(name, performance.now() - start);
}
