import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { commandOn, INTERFACE } from '../network/network.mjs';
import { runProcess, runTogether } from './run-process.mjs';

let nextPort = 29500;
/** In namespaces, where nobody else is. */
export const freshPort = () => nextPort++;

/**
 * Runs a command on several ranks at once, with torchrun's variables and one thread each.
 *
 * @param commandOf Gets a rank; gives `[command, args]`.
 * @param network A rank on each of its hosts; undefined: all on this host.
 * @param env Added to the environment of each.
 * @returns What each printed, by rank.
 * @throws Error of the first rank that fails, when the others have been ended; the reason of `signal`.
 */
export async function runRanks(commandOf, { ranks, network, env = {}, signal }) {
  const common = {
    ...env,
    WORLD_SIZE: `${ranks}`,
    LOCAL_WORLD_SIZE: `${network ? 1 : ranks}`,
    MASTER_ADDR: network ? network.hosts[0].address : '127.0.0.1',
    MASTER_PORT: `${network ? freshPort() : await freePort()}`,
    ...(network && { GLOO_SOCKET_IFNAME: INTERFACE }),
    ACC_JOB_TOKEN: randomBytes(16).toString('hex'),
    OMP_NUM_THREADS: '1',
  };
  const starts = Array.from({ length: ranks }, (_, rank) => (either) => {
    const own = { RANK: `${rank}`, LOCAL_RANK: `${network ? 0 : rank}` };
    const [command, args] = commandOf(rank);
    const started = network ? commandOn(network.hosts[rank], command, args) : [command, args];
    return runProcess(...started, { ...common, ...own }, either);
  });
  return runTogether(starts, signal);
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
