import { decodeFrame, encodeFrame, maxFrameBytes, maxHeaderBytes, type Frame } from '../protocol/frame.js';
import type { WeightLayout } from '../protocol/layout.js';
import { MissedBeats } from '../protocol/missed-beats.js';
import { SUBPROTOCOL, TOKEN_PREFIX } from '../protocol/messages.js';
import type { OpenSocket, Socket } from './socket.js';

export interface LinkRequest {
  readonly url: string;
  readonly name: string;
  readonly token: string;
  /** The weights of this client's model, which limit the length of messages. */
  readonly layout: WeightLayout;
}

export interface LinkEvents {
  onFrame(frame: Frame): void;
  /** A message that is no frame. */
  onBadFrame(error: unknown): void;
  /** Called once. `error`: the reason, if the socket gave one. */
  onClosed(code: number, error: unknown): void;
}

/** The close code of a connection that ended without one. */
const ABNORMAL = 1006;
const NORMAL = 1000;

/** One connection to the coordinator. */
export class Link {
  #socket: Socket | undefined;
  #beats: MissedBeats | undefined;
  #isClosed = false;
  #error: unknown;
  readonly #events: LinkEvents;

  private constructor(events: LinkEvents) {
    this.#events = events;
  }

  /** Begins a connection. A failure is reported by `onClosed`. */
  static async open(open: OpenSocket, request: LinkRequest, events: LinkEvents): Promise<Link> {
    const link = new Link(events);
    const url = new URL(request.url);
    url.searchParams.set('name', request.name);
    const protocols = [SUBPROTOCOL, TOKEN_PREFIX + base64Url(request.token)];
    const socket = await open({ url: url.href, protocols, maxFrameBytes: maxFrameBytes(request.layout) });
    link.#listen(socket, maxHeaderBytes(request.layout));
    return link;
  }

  #listen(socket: Socket, headerLimit: number): void {
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('error', ({ error }) => (this.#error = error));
    socket.addEventListener('close', ({ code }) => this.#ended(code));
    socket.addEventListener('message', ({ data }) => {
      if (this.#isClosed) return;
      this.#beats?.heard();
      let frame: Frame;
      try {
        frame = decodeFrame(
          data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array(),
          headerLimit,
        );
      } catch (error) {
        this.#events.onBadFrame(error);
        return;
      }
      this.#events.onFrame(frame);
    });
  }

  /** From now on a silent coordinator counts as lost. */
  expectBeats(intervalMs: number): void {
    this.#beats ??= new MissedBeats(intervalMs, () => {
      this.#socket?.close();
      // A dead peer does not answer the closing handshake.
      this.#ended(ABNORMAL);
    });
  }

  send(...frame: Parameters<typeof encodeFrame>): void {
    if (!this.#isClosed) this.#socket!.send(encodeFrame(...frame));
  }

  /** Closes the connection without a call of `onClosed`. */
  close(): void {
    if (this.#isClosed) return;
    this.#stop();
    this.#socket?.close(NORMAL);
  }

  #ended(code: number): void {
    if (this.#isClosed) return;
    this.#stop();
    this.#events.onClosed(code, this.#error);
  }

  #stop(): void {
    this.#isClosed = true;
    this.#beats?.stop();
  }
}

/** Base64 of UTF-8 in letters that a header of subprotocols may have. */
function base64Url(text: string): string {
  const binary = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
