/**
 * A part of a collective in which this thread waited, or started work.
 *
 * @param name The call, such as `allReduce of float32 [10]`. Its text is made when it is asked for.
 * @param ms How long the thread was in it, in milliseconds. Work that other threads do meanwhile is
 * not in it.
 */
export type CollectiveObserver = (name: () => string, ms: number) => void;

interface Observers {
  readonly begin: (() => void) | undefined;
  readonly end: CollectiveObserver;
}

const observers = new Set<Observers>();

/**
 * Calls `observer` after each part of every collective in this process, also after one that failed. It
 * must not call collectives.
 *
 * @param begin Called before each part.
 * @returns Removes this observer.
 */
export function observeCollectives(observer: CollectiveObserver, begin?: () => void): () => void {
  const own: Observers = { begin, end: (...part) => observer(...part) };
  observers.add(own);
  return () => void observers.delete(own);
}

/** Called before a part begins. Returns what is to be called at its end; undefined if nobody observes. */
export function beginObserved(): ((name: () => string) => void) | undefined {
  if (observers.size === 0) return undefined;
  const start = performance.now();
  for (const { begin } of observers) begin?.();
  return (name) => {
    const ms = performance.now() - start;
    for (const { end } of observers) end(name, ms);
  };
}
