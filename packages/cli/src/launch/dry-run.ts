import type { RankCommand } from './rank-process.js';
import { shellWord, shellWords } from './shell-word.js';

/** Values that are chosen at the start. */
const CHOSEN: Readonly<Record<string, { readonly unknown: string; readonly shown: string }>> = {
  MASTER_PORT: { unknown: '0', shown: '<a free port>' },
  ACC_JOB_TOKEN: { unknown: '', shown: '<a random secret>' },
};

/**
 * The commands of this host's ranks as lines of a shell, each after a comment about its CPUs and
 * output. Variables that ranks take over from the launcher's own environment are left out.
 */
export function describeCommands(commands: readonly RankCommand[]): string {
  return commands.map(describeCommand).join('\n');
}

function describeCommand({ rank, variables, command, cpus, logs, isShown }: RankCommand): string {
  const { WORLD_SIZE, GROUP_RANK, GROUP_WORLD_SIZE } = variables;
  const lines = [`# rank ${rank} of ${WORLD_SIZE}, on host ${GROUP_RANK} of ${GROUP_WORLD_SIZE}`];
  const nodes = cpus && `NUMA ${cpus.nodes.length > 1 ? 'nodes' : 'node'} ${cpus.nodes.join(', ')}`;
  lines.push(`# CPUs: ${cpus ? `${cpus.cpus.join(',')} (${nodes})` : 'all'}`);
  if (logs) lines.push(`# output: ${logs.stdout}, ${logs.stderr}${isShown ? ', and shown' : ''}`);
  const assignments = Object.entries(variables).map(([name, value]) => {
    const chosen = CHOSEN[name];
    return `${name}=${shellWord(chosen?.unknown === value ? chosen.shown : value)}`;
  });
  return `${[...lines, [...assignments, shellWords(command)].join(' ')].join('\n')}\n`;
}
