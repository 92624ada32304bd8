import { setImmediate } from 'node:timers/promises';

/** Resolves in the next turn of the event loop, after timers and events that wait now. */
export function nextTurn(): Promise<void> {
  return setImmediate();
}

/** Calls `fn` in the next turn. Does not keep the process alive. Returns a function that cancels it. */
export function soon(fn: () => void): () => void {
  const immediate = globalThis.setImmediate(fn);
  immediate.unref();
  return () => clearImmediate(immediate);
}
