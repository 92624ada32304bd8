import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scriptArguments } from '@acc/transpile';

export interface MpiEnd {
  readonly code: number | null;
  readonly output: string;
  /** The value that each rank passed to `reportResult`. */
  readonly results: readonly unknown[];
}

export interface MpiOptions {
  readonly ranks: number;
  readonly args?: readonly string[];
  /** Variables in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Options of mpirun itself. */
  readonly options?: readonly string[];
  /** The command that starts mpirun. Default: none. */
  readonly before?: readonly string[];
}

/** Runs a script with Open MPI's mpirun, on more ranks than there are cores, and as root. */
export async function mpirun(script: URL, given: MpiOptions): Promise<MpiEnd> {
  const { ranks, args = [], env = {}, options = [], before = [] } = given;
  const directory = mkdtempSync(join(tmpdir(), 'acc-mpirun-'));
  const program = [process.execPath, ...(await scriptArguments(fileURLToPath(script))), ...args];
  const command = [
    ...before,
    'mpirun',
    '--oversubscribe',
    '--output-filename',
    directory,
    '-n',
    String(ranks),
    ...options,
    ...program,
  ];
  const child = spawn(command[0]!, command.slice(1), {
    env: {
      ...process.env,
      OMPI_ALLOW_RUN_AS_ROOT: '1',
      OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1',
      OMP_NUM_THREADS: '1',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  const results = resultsIn(directory);
  rmSync(directory, { recursive: true });
  return { code, output, results };
}

/**
 * The results in the files that mpirun writes for each rank. What it prints itself are pieces of some
 * kilobytes, between which are those of other ranks.
 */
function resultsIn(directory: string): unknown[] {
  const results: unknown[] = [];
  const ofJob = join(directory, '1');
  if (!existsSync(ofJob)) return results;
  for (const name of readdirSync(ofJob)) {
    const [, json] = /^::result::(.*)$/m.exec(readFileSync(join(ofJob, name, 'stdout'), 'utf8')) ?? [];
    if (json !== undefined) results[Number(name.replace('rank.', ''))] = JSON.parse(json);
  }
  return results;
}
