import type { JobResult } from './index.mjs';

export function runShard(options: {
  project: string;
  files: readonly string[];
  args?: readonly string[];
  signal: AbortSignal;
}): Promise<JobResult>;
