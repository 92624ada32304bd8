// The queue of checks. `await prepare(projects)` first, then give jobs to `runJobs`.
export {
  checkJobs,
  commandJob,
  countedJob,
  deviceJob,
  jobsForFiles,
  jobsForProjects,
  PROJECTS,
  releaseJobs,
  shuffledJobs,
  specsJob,
  vitestJob,
} from './jobs.mjs';
export { prepare } from './prepare.mjs';
export { filesOfProjects } from './projects.mjs';
export { expectedSeconds } from './queue.mjs';
export { printSummary, runAndReport, runJobs } from './run-jobs.mjs';
