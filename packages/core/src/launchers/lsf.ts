import { readFileSync } from 'node:fs';
import { addressOnOneHost } from './this-host.js';
import { environmentError, integer, portOfJob, type JobPlace, type Variables } from './variables.js';

/**
 * Reads the variables that jsrun, the launcher of IBM's LSF, sets for its processes. The host of rank
 * 0 is read from the list of the job's hosts.
 *
 * @throws AccError `ACC_ENVIRONMENT`.
 */
export function lsfPlace(env: Variables): JobPlace | undefined {
  if (!env['JSM_NAMESPACE_SIZE']) return undefined;
  const size = integer(env, 'JSM_NAMESPACE_SIZE', { min: 1 });
  const localSize = integer(env, 'JSM_NAMESPACE_LOCAL_SIZE', { min: 1, max: size });
  const masterAddress = env['MASTER_ADDR'] || firstHost(env, size / localSize);
  if (localSize < size && !masterAddress) {
    throw environmentError(
      'MASTER_ADDR is not set, and the list of hosts of the LSF job does not tell where rank 0 is',
      'Set MASTER_ADDR to the host of rank 0, for example in the script that you give to bsub.',
    );
  }
  const job = `lsf ${env['LSB_JOBID'] ?? ''}`;
  return {
    rank: integer(env, 'JSM_NAMESPACE_RANK', { min: 0, max: size - 1 }),
    size,
    localRank: integer(env, 'JSM_NAMESPACE_LOCAL_RANK', { min: 0, max: localSize - 1 }),
    localSize,
    masterAddress: localSize === size ? addressOnOneHost(masterAddress ?? '127.0.0.1') : masterAddress!,
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
export function firstHost(env: Variables, count: number): string | undefined {
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
