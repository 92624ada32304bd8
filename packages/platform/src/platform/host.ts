import { hostname } from 'node:os';

/** The name of this host. */
export function hostName(): string {
  return hostname();
}

/** The number of this process. */
export const processId: number = process.pid;

/** Whether a process of this host runs. */
export function isProcessAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The variables of the environment. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}
