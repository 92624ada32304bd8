/**
 * A part of a collective in which this thread waited, or started work.
 *
 * @param name The call, such as `allReduce of float32 [10]`. Its text is made when it is asked for.
 * @param ms How long the thread was in it, in milliseconds. Work that other threads do meanwhile is
 * not in it.
 */
export type CollectiveObserver = (name: () => string, ms: number) => void;

const observers = new Set<CollectiveObserver>();

/**
 * Calls `observer` after each part of every collective in this process, also after one that failed. It
 * must not call collectives.
 *
 * @returns Removes this observer.
 */
export function observeCollectives(observer: CollectiveObserver): () => void {
  const own: CollectiveObserver = (...part) => observer(...part);
  observers.add(own);
  return () => void observers.delete(own);
}

/** Called before a part begins. Returns what is to be called at its end; undefined if nobody observes. */
export function beginObserved(): ((name: () => string) => void) | undefined {
  if (observers.size === 0) return undefined;
  const start = performance.now();
  return (name) => {
    const ms = performance.now() - start;
    for (const observer of observers) observer(name, ms);
  };
}
