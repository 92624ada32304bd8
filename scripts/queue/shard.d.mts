import type { ProjectName } from './projects.mjs';

export interface Shard {
  readonly project: ProjectName;
  readonly files: string[];
}

export function shardEnvironment(project: ProjectName, files: readonly string[]): NodeJS.ProcessEnv;
export function givenShard(): Shard | undefined;
