import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/**
 * Before tests with processes of their own: builds the packages, which those processes load, and looks for libtorch once for all of
 * them. Each would start a Python for that otherwise.
 */
export default async function setup(): Promise<void> {
  const turbo = join(root, 'node_modules', '.bin', 'turbo');
  execFileSync(turbo, ['run', 'build', '--ui=stream', '--output-logs=errors-only'], {
    cwd: root,
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', TURBO_NO_UPDATE_NOTIFIER: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const { findLibtorch } = await import('@acc/native');
  const libtorch = findLibtorch();
  if (libtorch) process.env['ACC_LIBTORCH'] = libtorch.root;
}
