import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

export interface Background {
  stop(): Promise<void>;
}

const POLL_MS = 100;

/** Starts a server in its own process group, and waits until `url` answers. */
export async function startServer(
  command: string,
  args: readonly string[],
  { url, env = {}, cwd }: { url: string; env?: Record<string, string>; cwd?: string },
): Promise<Background> {
  let output = '';
  const child = spawn(command, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    ...(cwd !== undefined && { cwd }),
  });
  const collect = (chunk: Buffer) => (output = (output + chunk.toString()).slice(-5_000));
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  // A test runner that aborts the test exits here.
  const kill = () => killGroup(child, 'SIGKILL');
  process.once('exit', kill);
  while (!(await answers(url))) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}: ${output}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return {
    async stop() {
      process.off('exit', kill);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      killGroup(child, 'SIGTERM');
      const timer = setTimeout(kill, 5_000);
      await ended;
      clearTimeout(timer);
      // Workers that are still running.
      kill();
    },
  };
}

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid!, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
