import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';

/** Above the ports of well-known services. */
const FIRST = 10_240;
/** Below those that Kubernetes gives to services, and that systems give to connections. */
const END = 30_000;
/** With fewer ports to draw from, two programs could easily draw the same one. */
const FEWEST = 1_000;
const TRIES = 100;

/**
 * A TCP port of this host that was free a moment ago, for a program that listens on it later. The
 * system gives the ports of its own range to outgoing connections, so one of them may be taken
 * until then. This port is drawn at random from a lower range.
 *
 * @param host The address to listen on. Default: all addresses.
 */
export async function freePort(host?: string): Promise<number> {
  const end = Math.min(END, firstOfConnections());
  for (let tries = 0; end - FIRST >= FEWEST && tries < TRIES; tries++) {
    try {
      return await tryPort(randomInt(FIRST, end), host);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
    }
  }
  return tryPort(0, host);
}

/**
 * Tests a port by listening for a moment, and returns the port. Without `host` it listens on all
 * addresses, so it finds a listener on any of them. Port 0 is one that the system chooses.
 *
 * @throws The error of the system: `EADDRINUSE`, `EACCES`.
 */
export async function tryPort(port: number, host?: string): Promise<number> {
  const server = createServer().listen({ port, host, exclusive: true });
  await once(server, 'listening');
  const { port: actual } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return actual;
}

/**
 * The first port that Linux gives to outgoing connections. Those of macOS and Windows are higher than
 * {@link END}, which is the result where the file does not exist.
 */
export function firstOfConnections(file = '/proc/sys/net/ipv4/ip_local_port_range'): number {
  try {
    return Number(/^\d+/.exec(readFileSync(file, 'utf8'))![0]);
  } catch {
    return END;
  }
}
