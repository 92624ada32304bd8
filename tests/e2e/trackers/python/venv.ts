import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { INSTALL_MS, installOnce, testCache } from '../../../installed-once.js';
import { Reader } from './reader.js';

const run = promisify(execFile);

/** A Python with its own packages. */
export interface Venv {
  readonly bin: (program: string) => string;
  /** Starts a script in the folder of this file. */
  readonly reader: (script: string) => Reader;
}

/**
 * The environment of `<name>.txt` beside this file: `~/.cache/acc/test-venvs/<name>-<its hash>`. If
 * it does not exist, `python3 -m venv` and pip create it, which takes at most half a minute. Other
 * test processes wait meanwhile.
 */
export async function venv(name: string): Promise<Venv> {
  const requirements = join(import.meta.dirname, `${name}.txt`);
  const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 8);
  const folder = join(testCache(), 'test-venvs', `${name}-${hash}`);
  await install(folder, requirements);
  const bin = (program: string) => join(folder, 'bin', program);
  return { bin, reader: (script) => new Reader(bin('python'), join(import.meta.dirname, script)) };
}

/** An index that answers late, or not each time, fails no test. */
const PATIENT = ['--retries', '10', '--timeout', '60'];

async function install(folder: string, requirements: string): Promise<void> {
  await installOnce(folder, async () => {
    await run('python3', ['-m', 'venv', folder], { timeout: INSTALL_MS });
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PATIENT];
    await run(join(folder, 'bin', 'python'), [...pip, '-r', requirements], { timeout: INSTALL_MS });
  });
}
