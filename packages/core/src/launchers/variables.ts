import { AccError, hashOf } from '@acc/contract';

export type Variables = Readonly<Record<string, string | undefined>>;

/** The position of a process in its job, and the rendezvous address. */
export interface JobPlace {
  readonly rank: number;
  readonly size: number;
  readonly localRank: number;
  readonly localSize: number;
  readonly masterAddress: string;
  readonly masterPort: number;
  /** The launcher's name of the job. It is used if the user does not set ACC_JOB_TOKEN. */
  readonly jobToken: string;
}

/** @throws AccError `ACC_ENVIRONMENT`. */
export function text(env: Variables, name: string): string {
  const value = env[name];
  if (!value) throw environmentError(`${name} is not set`);
  return value;
}

interface Range {
  readonly min: number;
  /** Default: any. */
  readonly max?: number;
  /** Where the variable is not set. Default: an error. */
  readonly fallback?: number | undefined;
}

/**
 * The whole number in a variable.
 *
 * @throws AccError `ACC_ENVIRONMENT`.
 */
export function integer(
  env: Variables,
  name: string,
  { min, max = Number.MAX_SAFE_INTEGER, fallback }: Range,
): number {
  const value = env[name];
  if (value === undefined || value === '') {
    if (fallback === undefined) throw environmentError(`${name} is not set`);
    return fallback;
  }
  const number = Number(value);
  if (!Number.isInteger(number) || number < min || number > max) {
    throw environmentError(`${name} is '${value}', which is not a whole number from ${min} to ${max}`);
  }
  return number;
}

export function environmentError(
  message: string,
  help = 'Start the program with `npx acc launch -n 2 script.ts`, or set all variables of torchrun: RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT.',
): AccError {
  return new AccError('ACC_ENVIRONMENT', `${message}.`, { help });
}

/** Above the ports of services, and below those that operating systems assign automatically. */
const FIRST_PORT = 15_000;
const PORTS = 15_000;

/**
 * The port of a job without a given port. It is the same on all processes of the job, and probably
 * different for other jobs.
 */
export function portOfJob(job: string): number {
  return FIRST_PORT + ((hashOf(job) >>> 0) % PORTS);
}
