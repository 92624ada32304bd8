import type { WebSocket } from 'ws';
import type { Entry } from '@acc/checkpoint/safetensors';
import { CLOSE, Refused } from '../errors.js';
import { decodeFrame, encodeHead, type Frame } from '../protocol/frame.js';
import { parseClientMessage, type ClientMessage, type CoordinatorMessage } from '../protocol/messages.js';
import { MissedBeats } from '../protocol/missed-beats.js';
import { isTooLong } from '../protocol/too-long.js';
import { CLOSING_MS, closeWithin } from './closing.js';

export interface MemberEvents {
  onMessage(member: Member, message: ClientMessage, frame: Frame): void;
  onRefused(member: Member, refused: Refused): void;
  onGone(member: Member): void;
  /** A message with weights has left this program. */
  onDrained(): void;
}

export interface MemberOptions {
  readonly heartbeatMs: number;
  readonly headerLimit: number;
  readonly traffic: Traffic;
}

/** Bytes of messages in both directions. */
export interface Traffic {
  received: number;
  sent: number;
}

/** A client that is refused that often without an accepted update is cut off. */
const MOST_REFUSALS = 10;
/** A client for which more bytes wait does not read them. */
const MOST_WAITING_BYTES = 64 * 1024;

/** A client that is connected. */
export class Member {
  readonly name: string;
  /**
   * arriving: it has not said hello. entering: the weights are on the way. ready: it waits for a
   * round. busy: it was asked.
   */
  state: 'arriving' | 'entering' | 'ready' | 'busy' = 'arriving';
  readonly closed: Promise<void>;
  readonly #socket: WebSocket;
  readonly #events: MemberEvents;
  readonly #options: MemberOptions;
  readonly #beats: MissedBeats;
  #isGone = false;
  #refusals = 0;

  constructor(socket: WebSocket, name: string, options: MemberOptions, events: MemberEvents) {
    this.name = name;
    this.#socket = socket;
    this.#options = options;
    this.#events = events;
    this.#beats = new MissedBeats(
      options.heartbeatMs,
      () => this.terminate(),
      () => this.#beat(),
    );
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('close', () => this.#gone());
    socket.on('error', (error) => this.#broke(error));
    // A browser answers pings itself, also while its page computes.
    socket.on('pong', () => this.#heard());
    socket.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary));
  }

  /** Whether messages that were sent have left this program, apart from small ones. */
  get isDrained(): boolean {
    return this.#socket.bufferedAmount <= MOST_WAITING_BYTES;
  }

  /** @param body Elements of the entries. It is not copied, and must not change. */
  send(message: CoordinatorMessage, entries: readonly Entry[] = [], body?: Uint8Array): void {
    if (this.#isGone) return;
    const head = encodeHead(message, entries);
    this.#options.traffic.sent += head.length + (body?.length ?? 0);
    // Two fragments of one message: all clients share the memory of the weights.
    this.#socket.send(head, { binary: true, fin: body === undefined });
    if (body) this.#socket.send(body, { binary: true, fin: true }, () => this.#events.onDrained());
  }

  refuse({ code, message }: Refused, round: number): void {
    if (!this.isDrained) return this.terminate();
    this.send({ type: 'refused', round, code, message });
    if (++this.#refusals >= MOST_REFUSALS) this.cutOff(CLOSE.refusals);
  }

  accepted(round: number): void {
    this.#refusals = 0;
    this.send({ type: 'accepted', round });
  }

  /** Closes the connection after all messages that were sent, within a time. */
  close(code: number, withinMs: number): void {
    closeWithin(this.#socket, code, withinMs);
  }

  /** Ends its part at once: messages that it still sends are not read. */
  cutOff(code: number): void {
    this.#gone();
    this.close(code, CLOSING_MS);
  }

  /** Ends the connection. Messages that wait are lost. */
  terminate(): void {
    this.#gone();
    this.#socket.terminate();
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (this.#isGone) return;
    this.#options.traffic.received += data.length;
    try {
      if (!isBinary)
        throw new Refused('ACC_FEDERATED_PROTOCOL', 'the message is text; expected a binary frame');
      const frame = decodeFrame(data, this.#options.headerLimit);
      const message = parseClientMessage(frame.message);
      if (message.type !== 'beat') this.#events.onMessage(this, message, frame);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#events.onRefused(this, error);
    }
    this.#heard();
  }

  /** Until hello, nothing counts as a sign of life: a silent connection does not keep its place. */
  #heard(): void {
    if (this.state !== 'arriving') this.#beats.heard();
  }

  #beat(): void {
    if (this.#isGone || !this.isDrained) return;
    this.#socket.ping();
    this.send({ type: 'beat' });
  }

  /** `ws` has sent a close code already. */
  #broke(error: Error): void {
    if (this.#isGone) return;
    const message = 'the message is longer than any about these weights';
    if (isTooLong(error)) this.#events.onRefused(this, new Refused('ACC_FEDERATED_SHAPE', message));
    this.cutOff(CLOSE.protocol);
  }

  #gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#beats.stop();
    this.#events.onGone(this);
  }
}
