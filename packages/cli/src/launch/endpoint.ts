import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { AccError } from '@acc/contract';
import type { Endpoint, LaunchPlan } from './options.js';

/**
 * Where rank 0 will listen. One host takes a free ephemeral port of the loopback, so that jobs beside each other
 * never meet; a port that was asked for is tried, on the host that rank 0 runs on.
 *
 * @throws AccError `ACC_PORT_TAKEN`, `ACC_PORT_FORBIDDEN`.
 */
export async function chooseEndpoint(plan: Pick<LaunchPlan, 'endpoint' | 'nodeRank'>): Promise<Endpoint> {
  const { host, port } = plan.endpoint ?? { host: '127.0.0.1', port: 0 };
  if (port === 0) return { host, port: await tryPort(0, '127.0.0.1') };
  if ((plan.nodeRank ?? 0) === 0) await requirePort(port);
  return { host, port };
}

async function requirePort(port: number): Promise<void> {
  try {
    await tryPort(port);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') {
      throw new AccError('ACC_PORT_TAKEN', `Port ${port} of this host is taken.`, {
        help: `Choose another port in --rdzv-endpoint, or end the process that has it: ss -ltnp 'sport = :${port}'`,
        details: { port },
        cause,
      });
    }
    throw new AccError('ACC_PORT_FORBIDDEN', `Port ${port} of this host can't be listened on (${code}).`, {
      help: 'Choose a port above 1023 in --rdzv-endpoint.',
      details: { port },
      cause,
    });
  }
}

/** This host's address on the way to another, or that of the interface given. */
export async function addressTowards(
  { host, port }: Endpoint,
  networkInterface: string | undefined,
): Promise<string> {
  const socket = connect({ host, port });
  await once(socket, 'connect');
  const { localAddress, localFamily } = socket;
  socket.destroy();
  if (networkInterface === undefined) return localAddress!;
  const addresses = networkInterfaces()[networkInterface] ?? [];
  const found = addresses.find(({ family }) => family === localFamily) ?? addresses[0];
  if (found) return found.address;
  throw new AccError(
    'ACC_INTERFACE_UNKNOWN',
    `This host has no network interface '${networkInterface}' with an address.`,
    {
      help: `It has ${Object.keys(networkInterfaces()).join(', ')}.`,
    },
  );
}

/** Listens for a moment. Without a host, on all addresses: a listener on any of them is found. Gives the port. */
export async function tryPort(port: number, host?: string): Promise<number> {
  const server = createServer().listen({ port, host, exclusive: true });
  await once(server, 'listening');
  const { port: actual } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return actual;
}
