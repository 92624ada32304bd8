import { AccError, isAccError } from '@acc/contract';
import { Store } from '@acc/native';
import { setTimeout as sleep } from 'node:timers/promises';
import { findAddresses } from './addresses.js';
import { engineWish } from './engine-choice.js';
import { DEFAULT_TIMEOUT_MS, type JoinOptions } from './options.js';
import { makeWorld, type RankGroup } from './rank-group.js';
import { keyPrefix, meet } from './rendezvous.js';

/** The group of all ranks of a job, and the store through which they met; `close` frees both. */
export interface JoinedGroup extends RankGroup {
  readonly store: Store;
}

/**
 * Joins the job's process group; resolves when every rank has come and proved that it knows the job's token.
 *
 * @throws AccError `ACC_PORT_TAKEN` on rank 0, `ACC_RENDEZVOUS_FAILED` when ranks are missing after the time-out,
 * `ACC_RENDEZVOUS_ADDRESS` and `ACC_INTERFACE_UNKNOWN` where this host has no such address, `ACC_RENDEZVOUS_CONFLICT` when
 * ranks were not started alike, `ACC_JOB_TOKEN` when they are not of one job, `ACC_ENGINE_MISMATCH` when they ask for
 * different engines, `ACC_ENGINE_UNAVAILABLE` when the one asked for can't be.
 */
export async function joinGroup(options: JoinOptions): Promise<JoinedGroup> {
  const { rank, jobToken, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const { store, own } = await connect(options, timeoutMs);
  try {
    const members = await meet(store, options, { wish: engineWish(options), address: own, timeoutMs });
    const site = { store, jobToken, timeoutMs, address: own };
    const world = await makeWorld(site, { name: keyPrefix(jobToken), members, rank });
    let isClosed = false;
    const close = () => {
      if (isClosed) return;
      isClosed = true;
      world.close();
      store.close();
    };
    // MPI must be ended in order, or mpirun takes the program's end for a failure.
    if (world.engine === 'mpi') process.once('exit', (code) => code === 0 && close());
    // All are here: nobody else has any business with the store. Sub-groups meet over the connections that there are.
    store.closeDoor();
    return { ...world, store, close };
  } catch (error) {
    // The store is in rank 0, and others have still to learn from it what went wrong.
    if (rank === 0) await sleep(LINGER_MS);
    store.close();
    throw error;
  }
}

const LINGER_MS = 500;

/** The job's store, and the address of this rank. */
async function connect(options: JoinOptions, timeoutMs: number): Promise<{ store: Store; own: string }> {
  const { rank, size, masterAddress, masterPort: port } = options;
  try {
    const { store: host, own } = await findAddresses(options, timeoutMs);
    const store = await Store.connect({ host, port, isServer: rank === 0, worldSize: size, timeoutMs });
    return { store, own };
  } catch (error) {
    if (!isAccError(error) || error.help) throw error;
    const help =
      error.code === 'ACC_PORT_TAKEN'
        ? 'Start with another MASTER_PORT (acc launch picks a free one when none is given), or end the program that holds it.'
        : `Rank 0 must run on the host of MASTER_ADDR=${masterAddress}, and others must reach its port MASTER_PORT=${port}.`;
    throw new AccError(error.code, `rank ${rank}: ${error.message}`, { help, cause: error });
  }
}
