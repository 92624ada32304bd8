/**
 * Resolves in the next turn of the event loop. Unlike a timer, a message is not delayed to 4 ms,
 * and not to a second in a page that is not shown.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

/** Calls `fn` in the next turn. Returns a function that cancels it. */
export function soon(fn: () => void): () => void {
  let isCancelled = false;
  void nextTurn().then(() => isCancelled || fn());
  return () => (isCancelled = true);
}
