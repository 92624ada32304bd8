import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { engine, getBackend, memory } from '@tensorflow/tfjs-core';
import { engineInternals, livePatches } from '@acc/tfjs-internals';

/** How many there are of each kind of thing that a module may leave behind, by name. */
export type Holdings = ReadonlyMap<string, number>;

/** The longest time that sockets and timers may take to close after a module has ended. */
const SETTLING_MS = 3_000;
const POLL_MS = 30;

/**
 * Counts what this process holds: tensors, bytes of native memory, variables, patches of tfjs,
 * listeners of `process`, timers, open files, shared memory, and its settings (the active backend,
 * open scopes of tfjs, environment variables, the working directory).
 */
export function holdings(): Holdings {
  const { numTensors, allocatedBytes = 0 } = memory() as ReturnType<typeof memory> & {
    allocatedBytes?: number;
  };
  const counts = new Map([
    ['tensors', numTensors],
    ['native bytes', allocatedBytes],
    [`active backend ${getBackend()}`, 1],
    ['open scopes of tfjs', engineInternals().state.scopeStack.length],
    [`working directory ${process.cwd()}`, 1],
    ['open files', countOf('/proc/self/fd')],
    ['mappings of shared memory', sharedMappings()],
  ]);
  const add = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const name of Object.keys(engine().registeredVariables)) add(`variable ${name}`);
  for (const name of livePatches()) add(`patch of ${name}`);
  for (const name of process.getActiveResourcesInfo()) if (/^(Timeout|Immediate)$/.test(name)) add('timers');
  for (const name of process.eventNames())
    counts.set(`listeners of process for ${String(name)}`, process.listenerCount(name));
  for (const [name, value] of Object.entries(process.env)) add(`environment variable ${name}=${value}`);
  return counts;
}

/** Collects garbage, if Node.js was started with `--expose-gc`. */
export const collectGarbage = (): void => (globalThis as { gc?: () => void }).gc?.();

/**
 * Compares with an earlier state, and waits a little for what is still being closed, or collected as
 * garbage. A collection takes long, so there is none if there is nothing more than before.
 *
 * @returns One line for each kind of which there is more than before: nothing if the process is as
 * before.
 */
export async function leftSince(before: Holdings): Promise<readonly string[]> {
  const start = performance.now();
  for (;;) {
    const left = difference(before, holdings());
    if (left.length === 0 || performance.now() - start > SETTLING_MS) return left;
    collectGarbage();
    await sleep(POLL_MS);
  }
}

function difference(before: Holdings, after: Holdings): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].flatMap((name) => {
    const more = (after.get(name) ?? 0) - (before.get(name) ?? 0);
    // A setting that is gone has another value now, which is listed. Fewer of the rest is progress.
    return more > 0 ? [`${name.replace(/=.*/s, '')}: ${more} more`] : [];
  });
}

/** The entries of a folder of Linux. Elsewhere 0. */
function countOf(folder: string): number {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0;
  }
}

function sharedMappings(): number {
  try {
    return readFileSync('/proc/self/maps', 'utf8')
      .split('\n')
      .filter((line) => line.includes('/dev/shm')).length;
  } catch {
    return 0;
  }
}
