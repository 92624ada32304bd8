import { setImmediate as turn } from 'node:timers/promises';
import { disposeTensors, holdBatch } from './structure.js';
import type { AtBoundary, BatchCounts, OnBatch, Step } from './batch-counts.js';
import type { Iteration } from './progress.js';

/** A step of which it isn't known yet whether another follows. */
export interface OpenStep<T> {
  readonly batch: T;
  readonly counts: Omit<BatchCounts, 'isLast'>;
  readonly end: number;
}

/** Reads one step ahead, so that every step knows whether it is the last. */
export async function* markLast<T>(steps: AsyncGenerator<OpenStep<T>>): AsyncGenerator<Step<T>> {
  let ahead: OpenStep<T> | undefined;
  try {
    ahead = await take(steps);
    while (ahead) {
      const { counts, end }: OpenStep<T> = ahead;
      const release = holdBatch(ahead.batch);
      let next: OpenStep<T> | undefined;
      try {
        next = await take(steps);
      } finally {
        ahead = { ...ahead, batch: release() };
      }
      const { batch }: OpenStep<T> = ahead;
      ahead = next;
      yield { batch, counts: { ...counts, isLast: next === undefined }, end };
    }
  } finally {
    disposeTensors(ahead?.batch);
    await steps.return(undefined);
  }
}

async function take<T>(steps: AsyncGenerator<T>): Promise<T | undefined> {
  const result = await steps.next();
  return result.done ? undefined : result.value;
}

/** Who hears of batches. */
export interface Listeners {
  readonly onBatch?: OnBatch | undefined;
  readonly atBoundary?: AtBoundary | undefined;
}

/** Steps of a loop over data in memory wait for nothing that would let the event loop turn. */
const TURN_MS = 50;

/**
 * Gives out the batches and tells their counts; the caller owns the batches. Every now and then the event loop gets a turn, so that
 * signals are heard, timers run and what trackers send leaves.
 */
export async function* deliver<T>(
  steps: AsyncIterable<Step<T>>,
  { onBatch, atBoundary }: Listeners,
  iteration: Iteration,
): AsyncGenerator<T, void, undefined> {
  let turnedMs = performance.now();
  try {
    for await (const { batch, counts, end } of steps) {
      try {
        await atBoundary?.();
        onBatch?.(counts, batch, iteration);
      } catch (error) {
        disposeTensors(batch);
        throw error;
      }
      iteration.advance(end, counts.isLast);
      yield batch;
      if (performance.now() - turnedMs > TURN_MS) {
        await turn();
        turnedMs = performance.now();
      }
    }
    await atBoundary?.();
  } finally {
    iteration.end();
    onBatch?.(undefined, undefined, iteration);
  }
}
