type Listener = (batch: unknown) => void;

const listeners = new Set<Listener>();

/**
 * Calls `listener` with each batch of data that was not divided among ranks, before the loop gets it,
 * and with undefined when the data ends. Returns a function that ends it.
 */
export function watchUnprepared(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function noteUnprepared(batch: unknown): void {
  for (const listener of listeners) listener(batch);
}
