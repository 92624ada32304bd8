import { once } from 'node:events';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { AccError } from '@acc/contract';
import { freePort, tryPort } from '@acc/platform/ports';
import type { Endpoint, LaunchPlan } from './options.js';

/**
 * Chooses the address at which rank 0 will listen. With one host it is a free port of the loopback
 * interface, so concurrent jobs never meet. A port that the user gave is tested on the
 * host of rank 0.
 *
 * @throws AccError `ACC_PORT_TAKEN`, `ACC_PORT_FORBIDDEN`.
 */
export async function chooseEndpoint(plan: Pick<LaunchPlan, 'endpoint' | 'nodeRank'>): Promise<Endpoint> {
  const { host, port } = plan.endpoint ?? { host: '127.0.0.1', port: 0 };
  if (port === 0) return { host, port: await freePort('127.0.0.1') };
  if ((plan.nodeRank ?? 0) === 0) await requirePort(port);
  return { host, port };
}

async function requirePort(port: number): Promise<void> {
  try {
    await tryPort(port);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EADDRINUSE') {
      throw new AccError('ACC_PORT_TAKEN', `Port ${port} of this host is already in use.`, {
        help: `Choose another port in --rdzv-endpoint, or end the process that uses it: ss -ltnp 'sport = :${port}'`,
        details: { port },
        cause,
      });
    }
    throw portForbidden(port, cause);
  }
}

/** @param cause The error of the system. */
export function portForbidden(port: number, cause: unknown): AccError {
  const { code } = cause as NodeJS.ErrnoException;
  return new AccError(
    'ACC_PORT_FORBIDDEN',
    `This process may not listen on port ${port} of this host (${code}).`,
    { help: 'Choose a port above 1023 in --rdzv-endpoint.', details: { port }, cause },
  );
}

/** The address of this host on the route to another host, or that of the given interface. */
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
      help: `Choose one of ${Object.keys(networkInterfaces()).join(', ')}.`,
    },
  );
}
