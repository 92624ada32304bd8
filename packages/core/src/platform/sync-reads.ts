/** Finds out whether values are read synchronously as they are. In Node.js they always are. */
export function guardSyncReads(): void {}
