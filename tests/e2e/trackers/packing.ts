import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const root = join(import.meta.dirname, '..', '..', '..');

/** Runs a command, and throws with what it printed when it fails. */
export async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await execute(command, args, { cwd, maxBuffer: 2 ** 26 });
    return stdout;
  } catch (error) {
    const { message, stdout } = error as Error & { stdout?: string };
    throw new Error(`${message}\n${stdout ?? ''}`, { cause: error });
  }
}

/** npm without looks at anything that a test doesn't need. */
export const npm = (args: readonly string[], cwd: string) =>
  run('npm', ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', ...args], cwd);

/** What would be published of a folder, as a tarball in `target`. */
export async function pack(folder: string, target: string): Promise<string> {
  const printed = await npm(['pack', '--json', '--pack-destination', target], folder);
  const [{ filename }] = JSON.parse(printed.slice(printed.indexOf('['))) as [{ filename: string }];
  return join(target, filename);
}

/** Packages of the workspace, built before, with their types. */
export async function packWorkspace(names: readonly string[], target: string): Promise<string[]> {
  const folders = names.map((name) => join(root, 'packages', name));
  const unbuilt = folders.filter((folder) => !existsSync(join(folder, 'dist', 'index.js')));
  if (unbuilt.length > 0) throw new Error(`build first: npm run build (${unbuilt.join(', ')})`);
  await run(join(root, 'node_modules', '.bin', 'tsc'), ['-b', ...folders], root);
  return Promise.all(folders.map((folder) => pack(folder, target)));
}
