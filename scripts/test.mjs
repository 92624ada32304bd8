// Prepares the clone and runs all checks: `npm test`, or `npm test -- --fast` for the unit and
// architecture tests. The last line is `N passed, N failed`, summed over all jobs.
import { runMain } from './process.mjs';
import { checkJobs, jobsForProjects, prepare, PROJECTS, runAndReport, specsJob } from './queue/index.mjs';

const FAST = ['pure', 'unit', 'architecture'];

await runMain(async () => {
  const unknown = process.argv.slice(2).filter((argument) => argument !== '--fast');
  if (unknown.length > 0) {
    console.error(`Unknown argument: ${unknown.join(' ')}. Known: --fast`);
    return 2;
  }
  const isFast = process.argv.includes('--fast');
  const projects = isFast ? FAST : PROJECTS;
  await prepare(projects);
  const others = isFast ? [] : [...checkJobs(), specsJob()];
  return runAndReport([...others, ...jobsForProjects(projects)]);
});
