import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** The folder for what tests install. */
export const testProjects = () =>
  join(process.env.ACC_CACHE_DIR ?? join(homedir(), '.cache', 'acc'), 'test-projects');

/** Without the user's settings, which may limit torch. */
export const pip = (python, args) =>
  execute(python, ['-m', 'pip', '--disable-pip-version-check', ...args], {
    env: { ...process.env, PIP_CONFIG_FILE: '/dev/null' },
    maxBuffer: 2 ** 26,
  });

/**
 * The headers of torch, from its wheel.
 *
 * @param {string} [tag] The platform of the wheel, as pip names it. Default: this one.
 */
export async function installHeaders(version, tag) {
  const folder = join(testProjects(), `torch-headers-${version}${tag ? `-${tag}` : ''}`);
  if (existsSync(folder)) return join(folder, 'torch');
  console.log(`… torch ${version}${tag ? ` for ${tag}` : ''}: fetching the headers`);
  const temporary = mkdtempSync(join(tmpdir(), 'acc-torch-'));
  const other = tag ? ['--only-binary=:all:', '--python-version', '3.13', '--platform', tag] : [];
  try {
    const flags = ['--no-deps', '--no-cache-dir', ...other, '-d', temporary];
    await pip('python3', ['download', ...flags, `torch==${version}`]);
    const wheel = readdirSync(temporary).find((name) => name.endsWith('.whl'));
    const unpacked = join(temporary, 'unpacked');
    await execute('python3', ['-c', UNPACK_HEADERS, join(temporary, wheel), unpacked]);
    mkdirSync(testProjects(), { recursive: true });
    await execute('cp', ['-r', unpacked, `${folder}.new`]);
    renameSync(`${folder}.new`, folder);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  return join(folder, 'torch');
}

const UNPACK_HEADERS = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if name.startswith("torch/include/")])
`;
