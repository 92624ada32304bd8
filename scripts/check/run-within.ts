import { availableParallelism } from 'node:os';
import {
  expectedSeconds,
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
  const waves = wavesOf(limitSeconds, checks, tests);
  const startedAt = performance.now();
  let result: RunResult = { passed: 0, failed: 0, results: [], left: [] };
  let next = 0;
  do {
    result = sum(result, await runJobs(waves[next++]!.jobs, { keepOrder: true }));
  } while (next < waves.length && !result.signal && performance.now() - startedAt < limitSeconds * 1000);
  return { ...result, leftFiles: filesOf(waves.slice(next)) };
}

/** The time that `runWithin` takes by the record of what tests cost. */
export interface Expected {
  readonly seconds: number;
  /** The test files that would not start. */
  readonly leftFiles: readonly string[];
}

/** The end of `runWithin` that is expected, without running anything. */
export function expectWithin(
  limitSeconds: number,
  checks: readonly Job[],
  tests: readonly string[],
): Expected {
  const waves = wavesOf(limitSeconds, checks, tests);
  let seconds = 0;
  let next = 0;
  do seconds += expectedSeconds(waves[next++]!.jobs);
  while (next < waves.length && seconds < limitSeconds);
  return { seconds, leftFiles: filesOf(waves.slice(next)) };
}

interface Wave {
  readonly files: readonly string[];
  readonly jobs: readonly Job[];
}

/** At least one; the checks are in the first. Without a limit the clock is never read, and all is one. */
function wavesOf(limitSeconds: number, checks: readonly Job[], tests: readonly string[]): Wave[] {
  const waves = limitSeconds === Infinity || tests.length === 0 ? [tests] : inWaves(tests);
  return waves.map((files, at) => {
    const jobs = jobsForFiles(files);
    return { files, jobs: at === 0 ? [...checks, ...jobs] : jobs };
  });
}

const filesOf = (waves: readonly Wave[]): string[] => waves.flatMap(({ files }) => files);

/** The tests in their order, divided where their expected length on all cores is that of a wave. */
export function inWaves(
  tests: readonly string[],
  secondsOf: (test: string) => number = secondsByRecord(),
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
export function secondsByRecord(): (test: string) => number {
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
