import { AccError, isAccError } from '@acc/contract';
import { Store } from '@acc/native';
import { setTimeout as sleep } from 'node:timers/promises';
import { findAddresses } from './addresses.js';
import { engineWish } from './engine-choice.js';
import { DEFAULT_TIMEOUT_MS, patienceOf, type JoinOptions } from './options.js';
import { makeWorld, type RankGroup } from './rank-group.js';
import { keyPrefix, meet } from './rendezvous.js';
import { requireStreams } from './stream-waits.js';

/** The group of all ranks of a job and the store through which they met. `close` frees both. */
export interface JoinedGroup extends RankGroup {
  readonly store: Store;
}

/**
 * Joins the process group of the job. Resolves when every rank has joined and has proved that it
 * knows the job's token.
 *
 * @throws AccError `ACC_PORT_TAKEN` on rank 0 if the port is in use. `ACC_RENDEZVOUS_FAILED` if
 * ranks are missing after `joinTimeoutMs`. `ACC_RENDEZVOUS_ADDRESS` or `ACC_INTERFACE_UNKNOWN` if this
 * host has no such address. `ACC_RENDEZVOUS_CONFLICT` if ranks were started with different
 * settings. `ACC_JOB_TOKEN` if ranks have different tokens. `ACC_ENGINE_MISMATCH` if ranks ask for
 * different engines. `ACC_ENGINE_UNAVAILABLE` if a rank cannot use the engine. `ACC_INVALID_OPTION` if
 * `streamWaits` is true, and the engine is not NCCL.
 */
export async function joinGroup(options: JoinOptions): Promise<JoinedGroup> {
  const { rank, jobToken, timeoutMs = DEFAULT_TIMEOUT_MS, joinTimeoutMs = timeoutMs } = options;
  requireStreams(options);
  const { store, own: local } = await connect(options, joinTimeoutMs);
  try {
    const meeting = { wish: engineWish(options), address: local, timeoutMs: joinTimeoutMs };
    const members = await meet(store, options, meeting);
    const times = { timeoutMs, joinTimeoutMs, patience: patienceOf(options) };
    const site = { store, jobToken, times, address: local, streamWaits: options.streamWaits ?? false };
    const world = await makeWorld(site, { name: keyPrefix(jobToken), members, rank });
    let isClosed = false;
    const close = () => {
      if (isClosed) return;
      isClosed = true;
      world.close();
      store.close();
    };
    // MPI must be finalized, or mpirun reports the end of the program as a failure.
    if (world.engine === 'mpi') process.once('exit', (code) => code === 0 && close());
    // All ranks are here, so the store accepts no more connections. Sub-groups meet over the
    // existing ones.
    tellOfStrangers(store.closeDoor(), options.masterPort);
    return { ...world, store, close };
  } catch (error) {
    // Rank 0 hosts the store, and other ranks still have to read the error from it.
    if (rank === 0) {
      await sleep(LINGER_MS);
      tellOfStrangers(store.closeDoor(), options.masterPort);
    }
    store.close();
    throw error;
  }
}

const LINGER_MS = 500;

/** Warns about connections that were no rank's. */
function tellOfStrangers({ ended, isFull }: ReturnType<Store['closeDoor']>, port: number): void {
  if (ended === 0 && !isFull) return;
  const connections = ended === 1 ? '1 connection' : `${ended} connections`;
  const found: string[] = [];
  if (ended > 0) {
    found.push(
      `rank 0 ended ${connections} to port ${port} while ranks joined, because they sent nothing, more than a rank sends, or were too many.`,
    );
  }
  if (isFull) found.push(`So much was sent to port ${port} of rank 0 that it let nobody in any more.`);
  console.warn(`acc: ${found.join(' ')} Let only the hosts of the job reach this port.`);
}

/** Connects to the job's store. Returns it with the address of this rank. */
async function connect(options: JoinOptions, timeoutMs: number): Promise<{ store: Store; own: string }> {
  const { rank, size, masterAddress, masterPort: port } = options;
  try {
    const { store: host, own: local } = await findAddresses(options, timeoutMs);
    const store = await Store.connect({ host, port, isServer: rank === 0, worldSize: size, timeoutMs });
    return { store, own: local };
  } catch (error) {
    if (!isAccError(error) || error.help) throw error;
    const help =
      error.code === 'ACC_PORT_TAKEN'
        ? 'Set another MASTER_PORT, or end the program that holds this one. acc launch picks a free port if none is given.'
        : `Run rank 0 on the host of MASTER_ADDR=${masterAddress}. Every other rank must be able to reach port MASTER_PORT=${port} there.`;
    throw new AccError(error.code, `rank ${rank}: ${error.message}`, { help, cause: error });
  }
}
