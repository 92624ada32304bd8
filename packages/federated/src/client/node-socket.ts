import type { Socket, SocketRequest } from './socket.js';

/**
 * Opens a WebSocket of the package `ws`, which is the same on every version of Node.js, and refuses
 * long messages before it stores them.
 */
export async function openNodeSocket({ url, protocols, maxFrameBytes }: SocketRequest): Promise<Socket> {
  const { WebSocket } = await import('ws');
  return new WebSocket(url, [...protocols], {
    maxPayload: maxFrameBytes,
    perMessageDeflate: false,
  }) as unknown as Socket;
}
