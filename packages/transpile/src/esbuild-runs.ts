import { stop } from 'esbuild';

let users = 0;

/** Ends esbuild's process after the last use, because a launcher runs as long as its job. */
export async function whileEsbuildRuns<T>(work: () => Promise<T>): Promise<T> {
  users++;
  try {
    return await work();
  } finally {
    if (--users === 0) await stop();
  }
}
