import { AccError } from '@acc/contract';
import { connect } from 'node:net';

const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 100;

/**
 * Resolves as soon as something listens on `host:port`. Ranks start at about the same time, so the store is often not up
 * yet; c10d's own retries pause for up to a second.
 *
 * @throws AccError `ACC_RENDEZVOUS_FAILED` after `timeoutMs`, or at once for a host that has no address.
 */
export async function awaitListener(host: string, port: number, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let pauseMs = FIRST_PAUSE_MS;
  for (;;) {
    const failure = await tryConnect(host, port, Math.max(deadline - Date.now(), 1));
    if (!failure) return;
    if (failure.code === 'ENOTFOUND' || Date.now() + pauseMs > deadline) {
      throw new AccError('ACC_RENDEZVOUS_FAILED', `Nobody listens on ${host}:${port}: ${failure.message}.`, {
        cause: failure,
      });
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
  }
}

/** The error of one attempt; undefined when it came through. */
function tryConnect(
  host: string,
  port: number,
  timeoutMs: number,
): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (failure?: NodeJS.ErrnoException) => {
      socket.destroy();
      resolve(failure);
    };
    socket.once('connect', () => end());
    socket.once('error', end);
    socket.once('timeout', () => end(new Error('the connection timed out')));
  });
}
