import { availableParallelism } from 'node:os';
import {
  filesOfProjects,
  jobsForFiles,
  PROJECTS,
  runJobs,
  type Job,
  type RunResult,
} from '../queue/index.mjs';
import { readRecord } from '../queue/record.mjs';

/** Tests of about this length are given to the queue together, and then the clock is read. */
const WAVE_SECONDS = 90;

export interface LimitedResult extends RunResult {
  /** The test files that were not started. */
  readonly leftFiles: readonly string[];
}

/**
 * Runs checks, and beside them tests in their order. After the limit no further tests start.
 *
 * @param checks Run in any case.
 */
export async function runWithin(
  limitSeconds: number,
  checks: readonly Job[],
  tests: readonly string[],
): Promise<LimitedResult> {
  if (limitSeconds === Infinity) {
    const result = await runJobs([...checks, ...jobsForFiles(tests)], { keepOrder: true });
    return { ...result, leftFiles: [] };
  }
  const waves = inWaves(tests);
  const startedAt = performance.now();
  let result: RunResult = { passed: 0, failed: 0, results: [], left: [] };
  let next = 0;
  let waiting = [...checks];
  do {
    const jobs = [...waiting, ...jobsForFiles(waves[next] ?? [])];
    result = sum(result, await runJobs(jobs, { keepOrder: true }));
    waiting = [];
    next++;
  } while (next < waves.length && !result.signal && performance.now() - startedAt < limitSeconds * 1000);
  return { ...result, leftFiles: waves.slice(next).flat() };
}

/** The tests in their order, divided where their expected length on all cores is that of a wave. */
export function inWaves(
  tests: readonly string[],
  secondsOf: (test: string) => number = expectedSeconds(),
  length = WAVE_SECONDS * availableParallelism(),
): string[][] {
  const waves: string[][] = [];
  let seconds = Infinity;
  for (const test of tests) {
    if (seconds >= length) {
      waves.push([]);
      seconds = 0;
    }
    waves.at(-1)!.push(test);
    seconds += secondsOf(test);
  }
  return waves;
}

/** The expected seconds of each test. */
function expectedSeconds(): (test: string) => number {
  const costOf = readRecord();
  const projects = filesOfProjects();
  const projectOf = new Map(PROJECTS.flatMap((name) => projects[name]!.map((test) => [test, name])));
  return (test) => costOf(test, projectOf.get(test)!).seconds;
}

function sum(a: RunResult, b: RunResult): RunResult {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    results: [...a.results, ...b.results],
    left: [...a.left, ...b.left],
    ...(b.signal === undefined ? {} : { signal: b.signal }),
  };
}
