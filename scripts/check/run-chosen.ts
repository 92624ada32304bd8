// Runs tests until one fails and writes what happened as JSON: `mutate` starts it in its copy of the
// tree.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { root, runMain } from '../process.mjs';
import {
  filesOfProjects,
  jobsForFiles,
  jobsForProjects,
  prepare,
  PROJECTS,
  runJobs,
  specsJob,
} from '../queue/index.mjs';
import { runShard } from '../queue/vitest.mjs';
import { changedFiles } from './changes.js';
import { inWaves } from './run-within.js';
import { Checkout } from './select/checkout.js';
import { selectTests } from './select/select.js';

export interface ChosenReport {
  /** In their order. */
  readonly chosen: readonly string[];
  /** The names of the failed tests, each behind the path of its file. */
  readonly failures: readonly string[];
  /** The addon that the tests loaded. */
  readonly addon: string;
}

/** The first tests are the most likely to fail, so few run before the first look at the results. */
const WAVE_SECONDS = 60;

/** A defect may be a loop without an end, which counts as a failure after this time. */
const PATIENCE = 10;
const PATIENCE_SECONDS = 300;

const { values } = parseArgs({
  options: {
    report: { type: 'string' },
    base: { type: 'string' },
    /** Test files, instead of those that the change since the base can break. */
    files: { type: 'string' },
    whole: { type: 'boolean' },
  },
});

await runMain(async () => {
  const projects = filesOfProjects();
  const chosen = values.whole
    ? PROJECTS.flatMap((name) => projects[name]!)
    : (values.files?.split(',') ??
      selectTests(new Checkout(root), changedFiles(root, values.base!)).map(({ test }) => test));
  const { addon } = await prepare(
    PROJECTS.filter((name) => projects[name]!.some((file) => chosen.includes(file))),
  );
  const failures = values.whole ? await runAll() : await runUntilFailure(chosen, projects);
  const report: ChosenReport = { chosen, failures, addon: addon.native };
  writeFileSync(values.report!, JSON.stringify(report));
});

async function runAll(): Promise<string[]> {
  const { results } = await runJobs([specsJob(), ...jobsForProjects(PROJECTS)]);
  return results.flatMap(({ failures = [] }) => failures.map(firstLine));
}

async function runUntilFailure(
  files: readonly string[],
  projects: Record<string, string[]>,
): Promise<string[]> {
  for (const wave of inWaves(files, undefined, WAVE_SECONDS)) {
    const jobs = jobsForFiles(wave).map((job) => ({
      ...job,
      run: ({ signal }: { signal: AbortSignal }) => {
        const project = PROJECTS.find((name) => projects[name]!.includes(job.files[0]!))!;
        const patience = AbortSignal.timeout(Math.ceil((PATIENCE_SECONDS + PATIENCE * job.seconds) * 1000));
        const either = AbortSignal.any([signal, patience]);
        return runShard({ project, files: job.files, args: ['--bail=1'], signal: either });
      },
    }));
    const { results } = await runJobs(jobs, { keepOrder: true, stopAtFirstFailure: true });
    const failures = results.flatMap(({ failures: own = [] }) => own);
    const real = failures.filter((failure) => !failure.includes('vitest did not run it'));
    if (failures.length > 0) return (real.length > 0 ? real : failures).map(firstLine);
  }
  return [];
}

function firstLine(failure: string): string {
  return failure.replace(/^✗ /, '').split('\n', 1)[0]!;
}
