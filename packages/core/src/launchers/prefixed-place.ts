import { readFileSync } from 'node:fs';
import { addressOnOneHost } from './this-host.js';
import { environmentError, integer, portOfJob, type JobPlace, type Variables } from './variables.js';

interface Launcher {
  /** Of the names of the launcher's variables. */
  readonly prefix: string;
  /** The launcher's name of the job. */
  readonly job: string;
  /** Where ranks on several hosts do not know the host of rank 0. */
  readonly withoutAddress: { readonly message: string; readonly help: string };
}

/**
 * Reads the variables `_SIZE`, `_RANK`, `_LOCAL_SIZE` and `_LOCAL_RANK` of a launcher. They do not
 * contain the host of rank 0, so a job on several hosts needs MASTER_ADDR, or LSF's list of hosts.
 *
 * @throws AccError `ACC_ENVIRONMENT`.
 */
export function prefixedPlace(env: Variables, { prefix, job, withoutAddress }: Launcher): JobPlace {
  const size = integer(env, `${prefix}_SIZE`, { min: 1 });
  const localSize = integer(env, `${prefix}_LOCAL_SIZE`, { min: 1, max: size });
  const isOneHost = localSize === size;
  const given = env['MASTER_ADDR'] || (isOneHost ? '127.0.0.1' : firstHost(env, size / localSize));
  if (!given) throw environmentError(withoutAddress.message, withoutAddress.help);
  return {
    rank: integer(env, `${prefix}_RANK`, { min: 0, max: size - 1 }),
    size,
    localRank: integer(env, `${prefix}_LOCAL_RANK`, { min: 0, max: localSize - 1 }),
    localSize,
    masterAddress: isOneHost ? addressOnOneHost(given) : given,
    masterPort: integer(env, 'MASTER_PORT', { min: 1, max: 65_535, fallback: portOfJob(job) }),
    jobToken: job,
  };
}

/**
 * The host of rank 0 of an LSF job with as many ranks on each host. Undefined outside LSF, and if the
 * list does not tell.
 *
 * @param count The number of hosts with ranks. The list may begin with a host that only launches.
 */
function firstHost(env: Variables, count: number): string | undefined {
  const file = env['LSB_DJOB_RANKFILE'] || env['LSB_DJOB_HOSTFILE'];
  if (!file || !Number.isInteger(count)) return undefined;
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
  const hosts = [...new Set(text.split(/\s+/).filter(Boolean))];
  const others = hosts.length - count;
  // With more hosts, the ranks are on some of them only.
  return others === 0 || others === 1 ? hosts[others] : undefined;
}
