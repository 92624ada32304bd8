import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const root = join(import.meta.dirname, '..', '..', '..');

/** Runs a command. If it fails, throws an error with its output. */
export async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  try {
    const { stdout } = await execute(command, args, { cwd, env, maxBuffer: 2 ** 26 });
    return stdout;
  } catch (error) {
    const { message, stdout } = error as Error & { stdout?: string };
    throw new Error(`${message}\n${stdout ?? ''}`, { cause: error });
  }
}

/** Makes npm skip everything that a test does not need. */
export const npm = (args: readonly string[], cwd: string) =>
  run('npm', ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', ...args], cwd);

/** Packs the packages in the folders as tarballs in `target`, in the same order. */
export async function pack(folders: readonly string[], target: string): Promise<string[]> {
  const printed = await npm(['pack', '--json', '--pack-destination', target, ...folders], root);
  const packed = JSON.parse(printed.slice(printed.indexOf('['))) as readonly { filename: string }[];
  return packed.map(({ filename }) => join(target, filename));
}

/**
 * Writes the folders of published packages that npm packs, by name, in a new folder, which is returned.
 * Their JavaScript was built before, and their types are updated here.
 */
export async function stageWorkspace(names: readonly string[]): Promise<string> {
  await run(process.execPath, [join(root, 'scripts', 'types.mjs')], root);
  const out = mkdtempSync(join(tmpdir(), 'acc-staged-'));
  await run(process.execPath, [join(root, 'scripts', 'release', 'stage.mjs'), '--out', out, ...names], root);
  return out;
}

/** Packs packages of the workspace. */
export async function packWorkspace(names: readonly string[], target: string): Promise<string[]> {
  const staged = await stageWorkspace(names);
  return pack(
    names.map((name) => join(staged, name)),
    target,
  );
}
