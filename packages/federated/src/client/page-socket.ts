import { AccError } from '@acc/contract';
import type { Socket, SocketRequest } from './socket.js';

type SocketClass = new (url: string, protocols: string[]) => Socket;

/** Opens the WebSocket of the page or worker. @throws AccError `ACC_FEDERATED_NO_WEBSOCKET`. */
export function openPageSocket({ url, protocols }: SocketRequest): Socket {
  const { WebSocket } = globalThis as unknown as { readonly WebSocket?: SocketClass };
  if (WebSocket) return new WebSocket(url, [...protocols]);
  throw new AccError('ACC_FEDERATED_NO_WEBSOCKET', 'There is no global WebSocket here.', {
    help: 'In Node.js, import @acc/federated without the condition `browser`.',
  });
}
