// Prepares the clone and runs all checks: `npm test`, or `npm test -- --fast` for the unit and
// architecture tests. `--counts <folder>` also writes there what each test file takes. The last line
// is `N passed, N failed`, summed over all jobs.
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { countingEnvironment } from '../tests/counts/counting-environment.mjs';
import { runMain } from './process.mjs';
import {
  checkJobs,
  deviceJob,
  jobsForProjects,
  prepare,
  PROJECTS,
  runAndReport,
  specsJob,
} from './queue/index.mjs';

const FAST = ['pure', 'unit', 'architecture'];

await runMain(async () => {
  const options = { fast: { type: 'boolean', default: false }, counts: { type: 'string' } };
  let values;
  try {
    ({ values } = parseArgs({ options }));
  } catch (error) {
    console.error(`${error.message} Known: --fast, --counts <folder>`);
    return 2;
  }
  const projects = values.fast ? FAST : PROJECTS;
  await prepare(projects);
  if (values.counts !== undefined) countIn(resolve(values.counts));
  const others = values.fast ? [] : [...checkJobs(), specsJob(), deviceJob()];
  return runAndReport([...others, ...jobsForProjects(projects)]);
});

/** From now on, tests and the processes that they start write what they take. */
function countIn(folder) {
  mkdirSync(folder, { recursive: true });
  Object.assign(process.env, countingEnvironment(folder));
}
