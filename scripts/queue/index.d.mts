export interface Job {
  readonly name: string;
  /** The files of a shard. */
  readonly files?: readonly string[];
  readonly processor: number;
  readonly memoryGiB: number;
  readonly seconds: number;
  run(context: { signal: AbortSignal }): Promise<JobResult>;
}

export interface JobResult {
  readonly passed: number;
  readonly failed: number;
  readonly failures?: readonly string[];
  readonly output?: string;
}

export interface RunResult {
  readonly passed: number;
  readonly failed: number;
  readonly results: readonly (JobResult & { readonly name: string; readonly seconds: number })[];
  readonly left: readonly string[];
  readonly signal?: string;
}

export interface RunOptions {
  readonly stopAtFirstFailure?: boolean;
  readonly keepOrder?: boolean;
  readonly print?: (text: string) => void;
}

export const PROJECTS: readonly string[];
export function prepare(
  projects: readonly string[],
): Promise<{ readonly addon: { readonly native: string } }>;
export function filesOfProjects(): Record<string, string[]>;
export function expectedSeconds(
  jobs: readonly Job[],
  capacity?: { readonly processor: number; readonly memoryGiB: number },
): number;
export function jobsForFiles(files: readonly string[]): (Job & { readonly files: readonly string[] })[];
export function commandJob(
  name: string,
  command: string,
  args: readonly string[],
  cost: { processor?: number; seconds: number; memoryGiB: number },
): Job;
export function runJobs(jobs: readonly Job[], options?: RunOptions): Promise<RunResult>;
export function printSummary(result: RunResult, print?: (text: string) => void): number;
export function jobsForProjects(names: readonly string[]): Job[];
export function specsJob(device?: string): Job;
