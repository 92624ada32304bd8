import type { WebSocket } from 'ws';

/**
 * How long a client may take to close a connection over which it gets no more weights, in
 * milliseconds.
 */
export const CLOSING_MS = 2_000;

/**
 * Closes a connection after all messages that were sent. A client that has not closed its side
 * after `withinMs` loses the connection.
 */
export function closeWithin(socket: WebSocket, code: number, withinMs: number): void {
  if (socket.readyState === socket.CLOSED) return;
  const timer = setTimeout(() => socket.terminate(), withinMs);
  socket.once('close', () => clearTimeout(timer));
  socket.close(code);
}
