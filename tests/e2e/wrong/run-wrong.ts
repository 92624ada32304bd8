import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..', '..');
export const ACC = join(root, 'packages', 'cli', 'bin', 'acc.js');

/** The number of processes, or jobs, at a time: more than cores, because they also wait. */
const AT_ONCE = 3;

export interface Ended {
  readonly code: number | null;
  /** The lines of stdout and stderr, in the order in which they came, without empty ones. */
  readonly lines: readonly string[];
}

/** Variables that a launcher gives to ranks. No outer launcher starts the programs here. */
const OF_LAUNCHERS = /^(?:ACC_|MASTER_|(?:LOCAL_|GROUP_|ROLE_)?(?:RANK|WORLD_SIZE)$)/;
const own = Object.entries(process.env).filter(([name]) => !OF_LAUNCHERS.test(name));

/** A folder with the packages of this repository. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'acc-wrong-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Runs Node.js with these arguments. Its temporary files lie in its folder. */
export async function runNode(
  args: readonly string[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<Ended> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...Object.fromEntries(own), NO_COLOR: '1', OMP_NUM_THREADS: '1', TMPDIR: cwd, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, lines: output.split('\n').filter((line) => line.trim() !== '') };
}

/** Calls `run` for each item, some at a time. The results are in the order of the items. */
export async function forEach<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const work = async (): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) results[i] = await run(items[i]!);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}
