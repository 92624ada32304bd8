import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Reader } from './reader.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const INSTALL_MS = 300_000;

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
  const cache = process.env['ACC_CACHE_DIR'] ?? join(homedir(), '.cache', 'acc');
  const folder = join(cache, 'test-venvs', `${name}-${hash}`);
  await install(folder, requirements);
  const bin = (program: string) => join(folder, 'bin', program);
  return { bin, reader: (script) => new Reader(bin('python'), join(import.meta.dirname, script)) };
}

async function install(folder: string, requirements: string): Promise<void> {
  const done = join(folder, 'installed');
  const lock = `${folder}.lock`;
  while (!existsSync(done)) {
    if (!takeLock(lock)) {
      await sleep(200);
      continue;
    }
    try {
      rmSync(folder, { recursive: true, force: true });
      await run('python3', ['-m', 'venv', folder], { timeout: INSTALL_MS });
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
      await run(join(folder, 'bin', 'python'), pip, { timeout: INSTALL_MS });
      writeFileSync(done, '');
    } finally {
      rmSync(lock, { recursive: true });
    }
  }
}

/**
 * One process installs. A lock that is older than an installation can take belongs to a killed
 * process.
 */
function takeLock(lock: string): boolean {
  mkdirSync(join(lock, '..'), { recursive: true });
  try {
    mkdirSync(lock);
    return true;
  } catch {
    const stats = statSync(lock, { throwIfNoEntry: false });
    if (stats && Date.now() - stats.mtimeMs > 2 * INSTALL_MS) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}
