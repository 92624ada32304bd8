import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
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

/** The environments of `npm test`, the slowest first. */
const OF_TESTS = [
  'transformers',
  'formats',
  'mlflow',
  'trackio',
  'columnar',
  'tensorboard',
  'wandb',
  's3',
].concat(['notebook', 'nvrtc', 'safetensors', 'kubernetes']);

/** Installs the environments of `npm test`, one for each core at the same time. */
export async function provideVenvs(): Promise<void> {
  const left = [...OF_TESTS];
  const next = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) await venv(name);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, next));
}

/** An index that answers late, or not each time, fails no test. */
const PATIENT = ['--retries', '10', '--timeout', '60'];

/** Compiling all modules takes most of an installation, and a test imports few of them. */
const QUICK = ['--no-compile', '--quiet', '--disable-pip-version-check'];

async function install(folder: string, requirements: string): Promise<void> {
  await installOnce(folder, async () => {
    await command('python3', ['-m', 'venv', '--without-pip', folder]);
    const python = join(folder, 'bin', 'python');
    const pip = ['-m', 'pip', '--python', python, 'install', ...QUICK, ...PATIENT];
    await command('python3', [...pip, '-r', requirements]);
  });
}

/** @throws Error that says so if the time ran out: `execFile` alone tells only the command. */
async function command(program: string, args: readonly string[]): Promise<void> {
  try {
    await run(program, args, { timeout: INSTALL_MS });
  } catch (error) {
    if (!(error instanceof Error) || !('killed' in error) || error.killed !== true) throw error;
    const minutes = INSTALL_MS / 60_000;
    throw new Error(`${program} was ended after ${minutes} minutes: ${error.message}`, { cause: error });
  }
}
