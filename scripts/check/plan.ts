// What `npm run check` runs for a change.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../process.mjs';
import { filesOfProjects, jobsForFiles, type Job } from '../queue/index.mjs';
import { checkJobs } from './check-jobs.js';
import type { Chosen } from './select/choice.js';
import type { ChangedFile } from './select/select-sources.js';

/** A change in these packages can break nearly every test. */
const BROAD = /^packages\/(kernels|core|native)\//;
const LIMIT_SECONDS = 12 * 60;

export interface CheckPlan {
  /** Lint, types and the rules of the architecture. */
  readonly checks: readonly Job[];
  /** Test files, the most specific first. */
  readonly tests: readonly string[];
  /** After it no further test starts. */
  readonly limitSeconds: number;
}

/** @param isAll Whether also what a broad change can break has no limit. */
export function planOf(
  changes: readonly ChangedFile[],
  chosen: readonly Chosen[],
  isAll: boolean,
): CheckPlan {
  const lintAndTypes = checkJobs(
    changes.map(({ path }) => path),
    (path) => existsSync(join(root, path)),
  );
  const isBroad = changes.some(({ path }) => BROAD.test(path));
  return {
    checks: [...lintAndTypes, ...jobsForFiles(filesOfProjects()['architecture']!)],
    tests: chosen.map(({ test }) => test),
    limitSeconds: isAll || !isBroad ? Infinity : LIMIT_SECONDS,
  };
}
