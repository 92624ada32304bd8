export type ProjectName =
  'pure' | 'unit' | 'architecture' | 'e2e' | 'ranks' | 'hosts' | 'threads' | 'release';

export const REPEATED: readonly string[];
export function filesOfProjects(): Record<ProjectName, string[]>;
