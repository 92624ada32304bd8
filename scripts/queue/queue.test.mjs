import { describe, expect, it } from 'vitest';
import { expectedSeconds, longestFirst, runQueue } from './queue.mjs';

const CAPACITY = { processor: 2, memoryGiB: 8 };

/**
 * Runs jobs that end when the test says so. `running()` names the jobs that run, in their order of
 * start.
 */
function started(jobs, capacity = CAPACITY) {
  const ends = new Map();
  const ending = new AbortController();
  const all = jobs.map((job) => ({
    ...{ processor: 1, memoryGiB: 1, seconds: 1 },
    ...job,
    run: () => new Promise((resolve) => ends.set(job.name, resolve)),
  }));
  const results = [];
  const done = runQueue(all, {
    capacity,
    signal: ending.signal,
    onEnd: ({ name }, result) => results.push([name, result]),
  });
  const end = async (name, result) => {
    ends.get(name)(result);
    ends.delete(name);
    await new Promise(setImmediate);
  };
  return { end, done, results, ending, running: () => [...ends.keys()] };
}

const named = (...names) => names.map((name) => ({ name }));

describe('runQueue', () => {
  it('starts the first jobs that fit, and the next when one ends', async () => {
    const queue = started(named('a', 'b', 'c', 'd'));
    expect(queue.running()).toEqual(['a', 'b']);
    await queue.end('b', 1);
    expect(queue.running()).toEqual(['a', 'c']);
    for (const name of ['a', 'c', 'd']) await queue.end(name, 2);
    await queue.done;
    expect(queue.results).toEqual([
      ['b', 1],
      ['a', 2],
      ['c', 2],
      ['d', 2],
    ]);
  });

  it('runs many waiting jobs beside computing ones', () => {
    const waiting = named('w1', 'w2', 'w3', 'w4', 'w5').map((job) => ({ ...job, processor: 0.2 }));
    const queue = started([...waiting, ...named('a', 'b')]);
    expect(queue.running()).toEqual(['w1', 'w2', 'w3', 'w4', 'w5', 'a']);
  });

  it('starts a smaller job if the next does not fit', async () => {
    const queue = started([{ name: 'a' }, { name: 'wide', processor: 2 }, { name: 'b' }]);
    expect(queue.running()).toEqual(['a', 'b']);
    await queue.end('a');
    expect(queue.running()).toEqual(['b']);
    await queue.end('b');
    expect(queue.running()).toEqual(['wide']);
  });

  it('keeps the sum of memory', () => {
    const jobs = named('a', 'b', 'c').map((job) => ({ ...job, processor: 0.2, memoryGiB: 3 }));
    expect(started(jobs).running()).toEqual(['a', 'b']);
  });

  it('runs a job alone that is larger than the machine', async () => {
    const large = [
      { name: 'large', memoryGiB: 64 },
      { name: 'alone', processor: Infinity },
      { name: 'other', processor: 0.2 },
    ];
    const queue = started(large, { processor: 1, memoryGiB: 8 });
    expect(queue.running()).toEqual(['large']);
    await queue.end('large');
    expect(queue.running()).toEqual(['alone']);
    await queue.end('alone');
    expect(queue.running()).toEqual(['other']);
  });

  it('uses each core of a larger machine', () => {
    const jobs = Array.from({ length: 20 }, (_, index) => ({ name: String(index) }));
    expect(started(jobs, { processor: 8, memoryGiB: 64 }).running()).toHaveLength(8);
    expect(started(jobs, { processor: 1, memoryGiB: 64 }).running()).toHaveLength(1);
  });

  it('starts nothing after an abort, and ends with the running jobs', async () => {
    const queue = started(named('a', 'b', 'c'));
    queue.ending.abort();
    await queue.end('a');
    expect(queue.running()).toEqual(['b']);
    await queue.end('b');
    await queue.done;
    expect(queue.results.map(([name]) => name)).toEqual(['a', 'b']);
  });
});

it('longestFirst orders by seconds', () => {
  const jobs = [1, 3, 2].map((seconds) => ({ seconds }));
  expect(longestFirst(jobs).map(({ seconds }) => seconds)).toEqual([3, 2, 1]);
});

it('what the queue takes is expected from its jobs', () => {
  const job = (processor, seconds) => ({ processor, seconds, memoryGiB: 1 });
  const expected = (...jobs) => expectedSeconds(jobs, CAPACITY);
  expect(expected()).toBe(0);
  // Two at a time: 5, 3 and then 4; the last ends at 7.
  expect(expected(job(1, 5), job(1, 3), job(1, 4))).toBe(7);
  expect(expected(job(Infinity, 5), job(1, 3), job(1, 4))).toBe(9);
  // Those that wait run beside others.
  expect(expected(job(0.2, 9), job(0.2, 8), job(1, 4), job(1, 3))).toBe(9);
});
