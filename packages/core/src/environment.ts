import { AccError } from '@acc/contract';

/** What the launcher tells a process; the only place that reads the environment. */
export interface LaunchEnvironment {
  readonly rank: number;
  readonly size: number;
  readonly localRank: number;
  readonly localSize: number;
  readonly masterAddress: string;
  readonly masterPort: number;
  readonly jobToken: string;
  readonly networkInterface: string | undefined;
  /** The engine of collectives that is asked for, where the program leaves it open. */
  readonly collectiveEngine: string | undefined;
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * torchrun's variables. Without WORLD_SIZE the program runs alone.
 *
 * @throws AccError `ACC_ENVIRONMENT` for a variable that is missing or not a number in range.
 */
export function readLaunchEnvironment(env: Variables = process.env): LaunchEnvironment {
  const size = integer(env, 'WORLD_SIZE', 1, Number.MAX_SAFE_INTEGER, 1);
  const isAlone = size === 1;
  const rank = integer(env, 'RANK', 0, size - 1, isAlone ? 0 : undefined);
  return {
    rank,
    size,
    localRank: integer(env, 'LOCAL_RANK', 0, size - 1, rank),
    localSize: integer(env, 'LOCAL_WORLD_SIZE', 1, size, size),
    masterAddress: isAlone ? '127.0.0.1' : text(env, 'MASTER_ADDR'),
    masterPort: isAlone ? 0 : integer(env, 'MASTER_PORT', 1, 65535, undefined),
    jobToken: env['ACC_JOB_TOKEN'] ?? 'default',
    networkInterface: env['GLOO_SOCKET_IFNAME'],
    collectiveEngine: env['ACC_COLLECTIVE_ENGINE'] || undefined,
  };
}

function text(env: Variables, name: string): string {
  const value = env[name];
  if (!value) throw environmentError(`${name} is not set, though WORLD_SIZE is ${env['WORLD_SIZE']}`);
  return value;
}

function integer(
  env: Variables,
  name: string,
  min: number,
  max: number,
  fallback: number | undefined,
): number {
  const value = env[name];
  if (value === undefined || value === '') {
    if (fallback === undefined)
      throw environmentError(`${name} is not set, though WORLD_SIZE is ${env['WORLD_SIZE']}`);
    return fallback;
  }
  const number = Number(value);
  if (!Number.isInteger(number) || number < min || number > max) {
    throw environmentError(`${name} is '${value}', which is not a whole number from ${min} to ${max}`);
  }
  return number;
}

function environmentError(message: string): AccError {
  return new AccError('ACC_ENVIRONMENT', `${message}.`, {
    help: 'Start the program with `npx acc launch -n 2 script.ts`, or set all that torchrun sets: RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT.',
  });
}
