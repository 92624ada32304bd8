// Lint and types of what changed.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, tool, tsc } from '../process.mjs';
import { commandJob, type Job } from '../queue/index.mjs';

/** With these, every file is linted again. */
const SETTINGS =
  /^(eslint\.config\.js|\.oxlintrc\.json|\.prettierrc\.json|\.prettierignore|package-lock\.json)$/;
const LINTED = /\.[cm]?[jt]s$/;
const TYPED = /\.[cm]?ts$|(^|\/)(package|tsconfig[\w.]*)\.json$|^package-lock\.json$/;

/**
 * @param changed From the root.
 * @param exists Whether a changed file still exists.
 */
export function checkJobs(changed: readonly string[], exists: (path: string) => boolean): Job[] {
  const present = changed.filter(exists);
  const isAll = present.some((path) => SETTINGS.test(path));
  const linted = isAll ? ['.'] : present.filter((path) => LINTED.test(path));
  const formatted = isAll ? ['.'] : present;
  const jobs: Job[] = [];
  const seconds = isAll ? 30 : 10;
  if (linted.length > 0) {
    const args = ['--no-warn-ignored', ...linted];
    jobs.push(commandJob('eslint', tool('eslint'), args, { seconds, memoryGiB: 2 }));
    const typed = ['--type-aware', '--no-error-on-unmatched-pattern', ...linted];
    jobs.push(commandJob('oxlint', tool('oxlint'), typed, { seconds, memoryGiB: 3 }));
  }
  if (formatted.length > 0) {
    const args = ['--check', '--ignore-unknown', '--log-level', 'warn', ...formatted];
    jobs.push(commandJob('prettier', tool('prettier'), args, { seconds: seconds / 3, memoryGiB: 1 }));
  }
  return changed.some((path) => TYPED.test(path)) ? [...jobs, ...typeJobs()] : jobs;
}

/** Both keep what they checked, so that only what depends on the change is checked again. */
function typeJobs(): Job[] {
  const folder = join(root, 'node_modules', '.cache', 'acc-check');
  mkdirSync(folder, { recursive: true });
  const kept = ['--incremental', '--tsBuildInfoFile', join(folder, 'tests.tsbuildinfo')];
  return [
    commandJob('types of tests', tsc, ['-p', 'tests', ...kept], { seconds: 15, memoryGiB: 3 }),
    commandJob('types', tsc, ['-b', 'tsconfig.build.json'], { seconds: 10, memoryGiB: 2 }),
  ];
}
