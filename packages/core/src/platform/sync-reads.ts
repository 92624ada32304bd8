/** Does nothing: synchronous reads work in Node.js. */
export function guardSyncReads(): void {}
