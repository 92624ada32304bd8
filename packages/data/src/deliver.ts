import { noteWait } from '@acc/contract';
import { nextTurn } from '@acc/platform';
import { cutSequences } from '#platform/cut-sequences';
import { readAhead } from '#platform/read-ahead';
import { disposeTensors, holdBatch } from './structure.js';
import type { AtBoundary, BatchCounts, OnBatch, Step } from './batch-counts.js';
import type { SequenceShard } from './sequence-shard.js';
import type { Iteration } from './progress.js';

/** A step before it is known whether another one follows. */
export interface OpenStep<T> {
  readonly batch: T;
  readonly counts: Omit<BatchCounts, 'isLast'>;
  readonly end: number;
}

/** Reads one step ahead to find out which step is the last. */
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

/** How batches are delivered, and functions that are called around each of them. */
export interface Delivery {
  /** The number of batches that are made while the loop computes. */
  readonly prefetch: number;
  /** The part of each sequence that is delivered. Default: all. */
  readonly sequence?: SequenceShard | undefined;
  readonly onBatch?: OnBatch | undefined;
  readonly atBoundary?: AtBoundary | undefined;
}

/**
 * The interval between turns of the event loop, in milliseconds. A loop over data in memory never
 * waits for anything that would let the event loop run.
 */
const TURN_MS = 50;
/** When the event loop last ran for some loop. An epoch may be shorter than the interval. */
let turnedMs = performance.now();

/** Makes up to `count` batches while the loop computes. */
export function ahead<T>(steps: AsyncGenerator<Step<T>>, count: number): AsyncGenerator<Step<T>> {
  return count > 0 ? readAhead(steps, count) : steps;
}

/**
 * Yields the batches and reports their counts. The caller owns the batches. Lets the event loop run
 * regularly, so that signals are handled, timers fire and trackers can send.
 */
export async function* deliver<T>(
  steps: AsyncGenerator<Step<T>>,
  { prefetch, sequence, onBatch, atBoundary }: Delivery,
  iteration: Iteration,
): AsyncGenerator<T, void, undefined> {
  let asked = performance.now();
  try {
    for await (const { batch, counts, end } of ahead(
      sequence ? cutSequences(steps, sequence) : steps,
      prefetch,
    )) {
      noteWait('loader', asked);
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
        await nextTurn();
        turnedMs = performance.now();
      }
      asked = performance.now();
    }
    await atBoundary?.(true);
  } finally {
    iteration.end();
    onBatch?.(undefined, undefined, iteration);
  }
}
