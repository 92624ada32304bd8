import type { Socket } from 'node:net';

/** The number of beats in the time after which a silent peer is lost. */
const BEATS = 10;
/** No message is longer. A stranger's bytes are not kept. */
const LONGEST_LINE = 65_536;

export interface ConnectionOptions<Received> {
  /** Called for each message. An error closes the connection. */
  onMessage(message: Received): void;
  /** Called once, when the connection is closed or the peer is lost. */
  onClose(reason: string): void;
  /** A peer that is silent for longer is lost. In milliseconds, the same at both ends. */
  readonly lostMs: number;
}

/** Messages over TCP, a line of JSON each. Both ends send beats, so that a silent peer is noticed. */
export class Connection<Received, Sent> {
  readonly #socket: Socket;
  readonly #lostMs: number;
  readonly #beats: NodeJS.Timeout;
  #text = '';
  #heardAt = performance.now();
  #reason = 'the connection was closed';

  constructor(socket: Socket, options: ConnectionOptions<Received>) {
    this.#socket = socket;
    this.#lostMs = options.lostMs;
    socket.setNoDelay(true).setEncoding('utf8');
    socket.on('data', (chunk) => this.#receive(String(chunk), options));
    socket.on('error', (error) => (this.#reason = error.message));
    socket.on('close', () => {
      clearInterval(this.#beats);
      options.onClose(this.#reason);
    });
    this.#beats = setInterval(() => this.#beat(), options.lostMs / BEATS);
  }

  send(message: Sent): void {
    this.#write(message);
  }

  /** Closes after everything was sent. */
  end(): void {
    this.#socket.end();
  }

  #beat(): void {
    const silentMs = performance.now() - this.#heardAt;
    if (silentMs <= this.#lostMs) return this.#write({});
    this.#reason = `it has not answered for ${Math.round(silentMs / 1000)} s`;
    this.#socket.destroy();
  }

  #write(message: unknown): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  #receive(chunk: string, { onMessage }: ConnectionOptions<Received>): void {
    this.#heardAt = performance.now();
    const lines = (this.#text + chunk).split('\n');
    this.#text = lines.pop()!;
    try {
      if (this.#text.length > LONGEST_LINE) throw new Error('a line is too long');
      for (const line of lines) {
        const message = JSON.parse(line) as { kind?: string };
        // A beat is an empty message.
        if (message.kind !== undefined) onMessage(message as Received);
      }
    } catch (error) {
      this.#reason = `it sent something else than acc launch does: ${(error as Error).message}`;
      this.#socket.destroy();
    }
  }
}
