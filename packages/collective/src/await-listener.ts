import { AccError, poll } from '@acc/contract';
import { connect } from 'node:net';

/** The two ends of a connection, as numbers. */
export interface Route {
  readonly localAddress: string;
  readonly remoteAddress: string;
}

/**
 * Resolves as soon as something listens on `host:port`, with the addresses of the way there. Ranks start at about the same
 * time, so the store is often not up yet; c10d's own retries pause for up to a second.
 *
 * @throws AccError `ACC_RENDEZVOUS_FAILED` after `timeoutMs`, or at once for a host that has no address.
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
  return new AccError('ACC_RENDEZVOUS_FAILED', `Nobody listens on ${host}:${port}: ${cause.message}.`, {
    cause,
  });
}

/** A single attempt may be lost on its way, and the kernel's own next one comes late. */
const ATTEMPT_MS = 3_000;

/** One attempt. */
function tryConnect(host: string, port: number, timeoutMs: number): Promise<Route | NodeJS.ErrnoException> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: Math.min(timeoutMs, ATTEMPT_MS) });
    const end = (outcome: Route | NodeJS.ErrnoException) => {
      socket.destroy();
      resolve(outcome);
    };
    socket.once('connect', () => {
      const { localAddress, remoteAddress } = socket;
      // They are gone where the other side has closed at once.
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
