// Runs jobs at the same time, as many as the machine carries. Nothing here knows what a job does.
import { availableParallelism, totalmem } from 'node:os';

/** Of the machine's memory; the rest is for the system and its cache of files. */
const SHARE_OF_MEMORY = 0.75;

/**
 * A job with the part of the machine that it takes.
 *
 * @typedef {object} Job
 * @property {string} name
 * @property {number} processor The mean number of cores that it keeps busy: 0.2 for a job that
 * mostly waits. `Infinity` for a job that runs alone.
 * @property {number} memoryGiB Its memory at its peak.
 * @property {number} seconds How long it is expected to take.
 * @property {(context: {signal: AbortSignal}) => Promise<object>} run Does the work, and ends early
 * if the signal aborts.
 */

/** The resources that jobs may take together on this machine. */
export function capacityOfMachine() {
  return { processor: availableParallelism(), memoryGiB: (SHARE_OF_MEMORY * totalmem()) / 2 ** 30 };
}

/** The longest job first, so that no long job starts at the end while the other cores are idle. */
export const longestFirst = (jobs) => [...jobs].sort((a, b) => b.seconds - a.seconds);

/**
 * Runs the jobs in their order. Whenever a job ends, the first waiting jobs that fit are started. A
 * job that does not fit on an idle machine runs alone.
 *
 * @param {readonly Job[]} jobs
 * @param {{capacity: {processor: number, memoryGiB: number}, signal: AbortSignal, onStart?: (job:
 * Job) => void, onEnd?: (job: Job, result: object, seconds: number) => void}} options No job starts
 * after the signal aborts.
 */
export async function runQueue(jobs, { capacity, signal, onStart, onEnd }) {
  const waiting = [...jobs];
  const running = new Map();
  const start = (job) => {
    const startedAt = performance.now();
    onStart?.(job);
    const end = (result) => {
      running.delete(job);
      onEnd?.(job, result, (performance.now() - startedAt) / 1000);
    };
    running.set(job, Promise.resolve(job.run({ signal })).then(end));
  };
  while (true) {
    if (!signal.aborted) startFitting(waiting, running, capacity, start);
    if (running.size === 0) return;
    await Promise.race(running.values());
  }
}

/** @param {Map<Job, unknown>} running Where `start` puts the job. */
function startFitting(waiting, running, capacity, start) {
  const taken = (key) => [...running.keys()].reduce((sum, job) => sum + job[key], 0);
  const fits = (job) =>
    running.size === 0 ||
    ['processor', 'memoryGiB'].every((key) => taken(key) + job[key] <= capacity[key] + 1e-9);
  for (let at = 0; at < waiting.length;) {
    if (fits(waiting[at])) start(waiting.splice(at, 1)[0]);
    else at++;
  }
}

/**
 * How many seconds the queue takes, if each job takes as long as is expected.
 *
 * @param {readonly Job[]} jobs In the order in which they start.
 * @param {{processor: number, memoryGiB: number}} [capacity] That of the machine.
 */
export function expectedSeconds(jobs, capacity = capacityOfMachine()) {
  const waiting = [...jobs];
  const endings = new Map();
  let now = 0;
  while (true) {
    startFitting(waiting, endings, capacity, (job) => endings.set(job, now + job.seconds));
    if (endings.size === 0) return now;
    now = Math.min(...endings.values());
    for (const [job, end] of endings) if (end <= now) endings.delete(job);
  }
}
