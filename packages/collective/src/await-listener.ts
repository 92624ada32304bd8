import { AccError, poll } from '@acc/contract';
import { connect } from 'node:net';

/** The addresses of the two ends of a connection, as numeric IP addresses. */
export interface Route {
  readonly localAddress: string;
  readonly remoteAddress: string;
}

/**
 * Resolves as soon as a process listens on `host:port`, with the addresses of both ends of the
 * connection. Ranks start at about the same time, so the store is often not up yet. The retries of
 * c10d itself would pause for up to a second.
 *
 * @throws AccError `ACC_RENDEZVOUS_FAILED` after `timeoutMs` milliseconds, or at once for a host
 * name without an address.
 */
export async function awaitListener(host: string, port: number, timeoutMs: number): Promise<Route> {
  const deadline = Date.now() + timeoutMs;
  let reason = new Error('no time was left') as NodeJS.ErrnoException;
  const ask = async (): Promise<Route | undefined> => {
    const outcome = await tryConnect(host, port, Math.max(deadline - Date.now(), 1));
    if (!(outcome instanceof Error)) return outcome;
    reason = outcome;
    if (reason.code === 'ENOTFOUND') throw nobodyListens(host, port, reason);
    return undefined;
  };
  const route = await poll(ask, { timeoutMs });
  if (!route) throw nobodyListens(host, port, reason);
  return route;
}

function nobodyListens(host: string, port: number, cause: Error): AccError {
  return new AccError('ACC_RENDEZVOUS_FAILED', `No process listens on ${host}:${port}: ${cause.message}.`, {
    help: 'Check that the process runs there, and that firewalls let this port through.',
    cause,
  });
}

/** The packets of one attempt may be lost, and the kernel waits long before it sends them again. */
const ATTEMPT_MS = 3_000;

/** Makes one connection attempt. Resolves with an error instead of rejecting. */
function tryConnect(host: string, port: number, timeoutMs: number): Promise<Route | NodeJS.ErrnoException> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: Math.min(timeoutMs, ATTEMPT_MS) });
    const end = (outcome: Route | NodeJS.ErrnoException) => {
      socket.destroy();
      resolve(outcome);
    };
    socket.once('connect', () => {
      const { localAddress, remoteAddress } = socket;
      // Both addresses are absent if the other side has already closed the connection.
      end(
        localAddress && remoteAddress
          ? { localAddress, remoteAddress }
          : new Error('the connection was closed'),
      );
    });
    socket.once('error', end);
    socket.once('timeout', () => end(new Error('the connection timed out')));
  });
}
