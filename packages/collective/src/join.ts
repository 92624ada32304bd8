import { AccError, isAccError } from '@acc/contract';
import { ProcessGroup, Store, tensorFrom, type GlooAddress } from '@acc/native';
import { createSocket } from 'node:dgram';
import { awaitListener } from './await-listener.js';
import { agreeOnEngine, type Engine } from './engine-choice.js';
import { DEFAULT_TIMEOUT_MS, type JoinOptions } from './options.js';

/** The group of all ranks of a job, and the store through which they met. */
export interface JoinedGroup {
  readonly group: ProcessGroup;
  readonly store: Store;
  /** What moves the bytes, and why that. */
  readonly engine: Engine;
  readonly reason: string;
  /** Frees sockets and threads of both. */
  close(): void;
}

/**
 * Joins the job's process group; resolves when every rank has come.
 *
 * @throws AccError `ACC_PORT_TAKEN` on rank 0, `ACC_RENDEZVOUS_FAILED` when ranks are missing after the time-out,
 * `ACC_ENGINE_MISMATCH` when ranks ask for different engines, `ACC_ENGINE_UNAVAILABLE` when the one asked for can't be.
 */
export async function joinGroup(options: JoinOptions): Promise<JoinedGroup> {
  const { rank, size, jobToken, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const store = await connect(options, timeoutMs);
  const named = (name: string) => ({ name: `acc/${jobToken}/${name}`, rank, size, timeoutMs });
  const { group, engine, reason } = await agreeOnEngine(store, options, {
    shm: () => ProcessGroup.shm(store, named('shm')),
    gloo: async () => ProcessGroup.gloo(store, named('world'), await addressOfThisRank(options)),
  });
  meet(group);
  return {
    group,
    store,
    engine,
    reason,
    close() {
      group.close();
      store.close();
    },
  };
}

/** One exchange: a rank that went on, and ended, while others still connect would fail them. */
function meet(group: ProcessGroup): void {
  using own = tensorFrom(Int32Array.of(group.rank), 'int32', [1]);
  using all = tensorFrom(new Int32Array(group.size), 'int32', [group.size]);
  group.allGather(own, all, undefined, { isBlocking: true }).wait();
}

async function connect(options: JoinOptions, timeoutMs: number): Promise<Store> {
  const { rank, size, masterAddress: host, masterPort: port } = options;
  try {
    if (rank > 0) await awaitListener(host, port, timeoutMs);
    return await Store.connect({ host, port, isServer: rank === 0, worldSize: size, timeoutMs });
  } catch (error) {
    if (!isAccError(error)) throw error;
    const help =
      error.code === 'ACC_PORT_TAKEN'
        ? 'Start with another MASTER_PORT (acc launch picks a free one when none is given), or end the program that holds it.'
        : `Rank 0 must be running and reachable at MASTER_ADDR=${host}, MASTER_PORT=${port}.`;
    throw new AccError(error.code, `rank ${rank}: ${error.message}`, { help, cause: error });
  }
}

async function addressOfThisRank(options: JoinOptions): Promise<GlooAddress> {
  if (options.isOneHost) return { host: '127.0.0.1' };
  if (options.networkInterface) return { interface: options.networkInterface };
  return { host: await localAddressTowards(options.masterAddress, options.masterPort) };
}

/** This host's address on the way to another. Nothing is sent: a connected UDP socket only asks the routing table. */
function localAddressTowards(host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    socket.once('error', (cause) => {
      socket.close();
      reject(
        new AccError('ACC_RENDEZVOUS_FAILED', `No route to ${host}: ${cause.message}`, {
          cause,
          help: 'Name the network interface to use with GLOO_SOCKET_IFNAME.',
        }),
      );
    });
    socket.connect(port, host, () => {
      const { address } = socket.address();
      socket.close();
      resolve(address);
    });
  });
}
