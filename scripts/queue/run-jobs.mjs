// Runs jobs and prints their results: one line for a job that passed, everything for one that
// failed. At the end come all failures again, because whoever reads the output may have only its
// last part, then a table, and `N passed, N failed`.
import { constants } from 'node:os';
import { capacityOfMachine, longestFirst, runQueue } from './queue.mjs';
import { progressLine } from './progress.mjs';

/** The signals that end all jobs. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Runs the jobs (queue.mjs), the longest first. Their `run` returns `{passed, failed, failures?,
 * output?}`. A job that ran no test, or that threw, counts as one failure.
 *
 * @param {readonly import('./queue.mjs').Job[]} jobs
 * @param {object} [options]
 * @param {boolean} [options.stopAtFirstFailure] Ends the other jobs when one has failed.
 * @param {boolean} [options.keepOrder] Starts the jobs in their order.
 * @param {{processor: number, memoryGiB: number}} [options.capacity] That of the machine.
 * @param {(text: string) => void} [options.print] Gets each line.
 * @returns {Promise<{passed: number, failed: number, results: object[], left: string[], signal?:
 * string}>} results: of the jobs that ended by themselves, with `name` and `seconds`. left: the
 * names of the others. signal: the signal that ended them.
 */
export async function runJobs(jobs, options = {}) {
  const { stopAtFirstFailure = false, keepOrder = false } = options;
  const { capacity = capacityOfMachine(), print = console.log } = options;
  const ending = new AbortController();
  const progress = progressLine(jobs.length);
  const results = [];
  const onEnd = (job, result, seconds) => {
    const isEnded = ending.signal.aborted;
    progress.ended(job, isEnded ? undefined : result);
    if (isEnded) return;
    results.push({ ...result, name: job.name, seconds });
    progress.around(() => printResult(results.at(-1), print));
    if (stopAtFirstFailure && result.failed > 0) ending.abort();
  };
  const signal = await withSignals(ending, () =>
    runQueue((keepOrder ? jobs : longestFirst(jobs)).map(neverRejects), {
      capacity,
      signal: ending.signal,
      onStart: progress.started,
      onEnd,
    }),
  );
  progress.clear();
  const sum = (key) => results.reduce((total, result) => total + result[key], 0);
  const done = new Set(results.map(({ name }) => name));
  const left = jobs.map(({ name }) => name).filter((name) => !done.has(name));
  return { passed: sum('passed'), failed: sum('failed'), results, left, signal };
}

/** Prints the failures again, a table of the jobs, and the sum. Returns the exit code. */
export function printSummary({ passed, failed, results, left, signal }, print = console.log) {
  print('');
  for (const { failures = [] } of results) for (const failure of failures) print(`${failure}\n`);
  for (const result of results) print(lineOf(result));
  if (left.length > 0) print(`– not run: ${left.join(', ')}`);
  // An interrupted run must not look like one that passed.
  print(`${passed} passed, ${failed + (signal ? left.length : 0)} failed`);
  if (signal) return 128 + constants.signals[signal];
  return failed === 0 ? 0 : 1;
}

/** Runs the jobs and prints everything. Returns the exit code. */
export const runAndReport = async (jobs, options) =>
  printSummary(await runJobs(jobs, options), options?.print);

function printResult(result, print) {
  if (result.failed > 0) {
    const text = result.output?.trimEnd() || result.failures.join('\n');
    print(`\n── ${result.name}\n${text}`);
  }
  print(lineOf(result));
}

function lineOf({ name, passed, failed, seconds }) {
  const mark = failed === 0 ? '✓' : '✗';
  return `${mark} ${name.padEnd(40)} ${passed} passed, ${failed} failed (${seconds.toFixed(1)} s)`;
}

function neverRejects(job) {
  const run = async (context) => {
    try {
      const result = await job.run(context);
      if (result.passed + result.failed > 0) return result;
      return { ...result, failed: 1, failures: [`✗ ${job.name}: no test ran`] };
    } catch (error) {
      return { passed: 0, failed: 1, failures: [`✗ ${job.name}: ${error.stack}`] };
    }
  };
  return { ...job, run };
}

/** While `work` runs, a signal aborts `ending`. Returns the signal that came. */
async function withSignals(ending, work) {
  let came;
  const onSignal = (name) => {
    came ??= name;
    ending.abort();
  };
  for (const name of ENDING) process.on(name, onSignal);
  try {
    await work();
  } finally {
    for (const name of ENDING) process.off(name, onSignal);
  }
  return came;
}
