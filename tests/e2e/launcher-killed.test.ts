import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, inject, it, onTestFinished, vi } from 'vitest';

const acc = fileURLToPath(new URL('../../packages/cli/bin/acc.js', import.meta.url));
const script = fileURLToPath(new URL('./ranks/reduce-for-ever.ts', import.meta.url));

const sharesMemory = (pid: number) =>
  readFileSync(`/proc/${pid}/maps`, 'utf8').includes('memfd:acc-collectives');

/** Other programs have files there, too, and so have the launchers of other tests. */
const filesOfRanks = () => readdirSync('/dev/shm').filter((name) => /acc(?!-rescue-)/.test(name));

function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

it('ranks inside collectives end within seconds after acc launch is killed, and free their shared memory', async () => {
  const before = filesOfRanks();
  const grace = inject('isRelease') ? [] : ['--grace', '1'];
  const args = [acc, 'launch', '-n', '3', '--threads', '1', ...grace, script];
  const launcher = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void launcher.kill('SIGKILL'));
  let output = '';
  launcher.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const pids = await vi.waitUntil(
    () => {
      const found = [...output.matchAll(/rank \d is process (\d+)/g)].map(([, pid]) => Number(pid));
      return found.length === 3 ? found : undefined;
    },
    { timeout: 240_000 },
  );
  expect(pids.every(sharesMemory)).toBe(true);
  launcher.kill('SIGKILL');
  // SIGTERM, and SIGKILL after the grace period. Ranks inside a collective do not handle signals.
  await vi.waitUntil(() => !pids.some(isRunning), { timeout: 240_000 });
  expect(filesOfRanks()).toEqual(before);
});
