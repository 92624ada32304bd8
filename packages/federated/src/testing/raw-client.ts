import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type { Coordinator } from '../coordinator/coordinator.js';
import { bytesOf } from '../protocol/compression.js';
import { decodeFrame, encodeFrame, entriesOf } from '../protocol/frame.js';
import { layoutOf, type WeightInfo } from '../protocol/layout.js';
import { SUBPROTOCOL, TOKEN_PREFIX } from '../protocol/messages.js';

/** A connection with the token, of a client that may be anything. */
export function socketTo({ url, token }: Coordinator, options: object, path = '/?name=raw'): WebSocket {
  const protocols = [SUBPROTOCOL, TOKEN_PREFIX + Buffer.from(token).toString('base64url')];
  const socket = new WebSocket(url + path, protocols, options);
  onTestFinished(() => socket.terminate());
  socket.on('error', () => {});
  return socket;
}

/** A client that sends what a test says. */
export async function rawClient(coordinator: Coordinator) {
  const socket = socketTo(coordinator, {});
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  const received: Record<string, unknown>[] = [];
  const answers: string[] = [];
  let wake = () => {};
  socket.on('message', (data) => {
    const message = decodeFrame(data as Buffer, 1e9).message as Record<string, unknown>;
    answers.push(message['type'] as string);
    received.push(message);
    wake();
  });
  const next = async (type: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const at = received.findIndex((message) => message['type'] === type);
      if (at >= 0) return received.splice(at, 1)[0]!;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  const send = (bytes: Uint8Array) => socket.send(bytes);
  const { weights } = (await next('welcome')) as unknown as { weights: WeightInfo[] };
  const update = (message: object, values: Float32Array, of: readonly WeightInfo[] = weights) => {
    const full = { type: 'update', samples: 1, metrics: {}, steps: [], ...message };
    send(encodeFrame(full, entriesOf(layoutOf(of), 'F32'), bytesOf(values)));
  };
  send(encodeFrame({ type: 'hello' }));
  await next('weights');
  send(encodeFrame({ type: 'ready' }));
  const pause = () => socket.pause();
  const resume = () => socket.resume();
  return { weights, answers, next, send, update, closed, pause, resume };
}
