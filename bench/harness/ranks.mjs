import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { commandOn, INTERFACE } from '../network/network.mjs';
import { runProcess, runTogether } from './run-process.mjs';

let nextPort = 29500;
/** Returns a new port for rank 0 in a network namespace, where nothing else uses it. */
export const freshPort = () => nextPort++;

/**
 * Runs a command on several ranks at once, with torchrun's variables and one thread each.
 *
 * @param commandOf Gets a rank and returns `[command, args]`.
 * @param network Each of its hosts runs one rank. Undefined: all ranks run on this host.
 * @param env Additional variables for each rank.
 * @returns The output of each rank, by rank.
 * @throws The error of the first rank that fails, after the others have ended; or the reason of
 * `signal`.
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
