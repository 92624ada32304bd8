import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/**
 * Builds the packages before tests that start programs, because these programs load the built
 * packages. It takes a second if nothing has changed.
 */
export default function setup(): void {
  const turbo = join(root, 'node_modules', '.bin', 'turbo');
  execFileSync(turbo, ['run', 'build', '--ui=stream', '--output-logs=errors-only'], {
    cwd: root,
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', TURBO_NO_UPDATE_NOTIFIER: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
