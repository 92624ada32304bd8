import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { AccError } from '@acc/contract';
import { Doors, type DoorLimits } from '@acc/platform/doors';
import { WebSocketServer, type WebSocket } from 'ws';
import { CLOSE } from '../errors.js';
import { clientName, SUBPROTOCOL, TOKEN_PREFIX } from '../protocol/messages.js';
import { LONGEST_TIMER_MS } from '../protocol/missed-beats.js';
import { CLOSING_MS, closeWithin } from './closing.js';

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly token: string;
  readonly origins: readonly string[] | undefined;
  /** The longest message of a client, in bytes. Longer ones end the connection unread. */
  readonly maxFrameBytes: number;
  /** Limits for connections that have not shown the token. */
  readonly door: DoorLimits;
  /** Whether a client of this name may join. */
  readonly hasRoom: (name: string) => boolean;
  readonly onClient: (socket: WebSocket, name: string) => void;
}

/** The most bytes that a refused connection may send before it is closed. */
const REFUSED_BYTES = 1024;

/** The listening side: it admits clients with the token, and closes other connections. */
export class FederationServer {
  readonly #server: Server;
  readonly #options: ListenOptions;
  readonly #clients: WebSocketServer;
  readonly #refusals: WebSocketServer;
  readonly #tokenHash: Buffer;
  readonly #doors: Doors;
  /** Connections in the TLS handshake, by the address of the client. HTTP does not know them yet. */
  readonly #handshakes = new Map<string, Socket>();

  private constructor(options: ListenOptions) {
    const { tls, maxFrameBytes, token, door } = options;
    this.#options = options;
    this.#tokenHash = hashOf(token);
    const shared = { noServer: true, perMessageDeflate: false, handleProtocols: () => SUBPROTOCOL };
    // Weights that were sent before a connection closes may take longer than the 30 s of `ws`.
    const clients = { ...shared, maxPayload: maxFrameBytes, closeTimeout: LONGEST_TIMER_MS };
    this.#clients = new WebSocketServer(clients);
    this.#refusals = new WebSocketServer({ ...shared, maxPayload: REFUSED_BYTES });
    this.#server = tls ? tlsServer(tls) : createServer();
    this.#doors = new Doors(door, 'the coordinator', (text) => console.warn(`acc: ${text}`));
    this.#server.on('connection', (connection) => this.#doors.watch(connection));
    if (tls) this.#watchHandshakes();
    this.#server.on('request', (_, response) => response.writeHead(426, { Connection: 'close' }).end());
    this.#server.on('upgrade', (request, socket, head) => this.#admit(request, socket, head));
  }

  /** @throws AccError `ACC_FEDERATED_LISTEN`. */
  static async listen(options: ListenOptions): Promise<FederationServer> {
    const listening = new FederationServer(options);
    await listening.#listen();
    return listening;
  }

  async #listen(): Promise<void> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      const fail = (cause: Error) => reject(cannotListen(host, port, cause));
      this.#server.once('error', fail);
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', fail);
        resolve();
      });
    });
    // The server still listens: a connection could not be accepted.
    this.#server.on('error', (error) => {
      console.warn(
        `acc: ACC_FEDERATED_LISTEN: a connection to ${this.url} failed: ${error.message}. The coordinator goes on with the others.`,
      );
    });
  }

  #watchHandshakes(): void {
    const addressOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
    this.#server.on('connection', (socket) => {
      const address = addressOf(socket);
      this.#handshakes.set(address, socket);
      socket.once('close', () => this.#handshakes.delete(address));
    });
    this.#server.on('secureConnection', (socket: Socket) => {
      const address = addressOf(socket);
      this.#doors.replace(this.#handshakes.get(address)!, socket);
      this.#handshakes.delete(address);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The address for clients on this machine, or of the host that was given. */
  get url(): string {
    const { host, tls } = this.#options;
    const name = host.includes(':') ? `[${host}]` : host;
    return `${tls ? 'wss' : 'ws'}://${name}:${this.port}`;
  }

  /**
   * Stops listening and ends connections that are not clients. Resolves when those of clients have
   * ended, too.
   */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#doors.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #admit(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const name = nameIn(request.url ?? '');
    const closeCode = this.#refusalOf(request, name);
    if (closeCode === undefined) {
      this.#doors.proven(socket as Socket);
      this.#clients.handleUpgrade(request, socket, head, (client) => this.#options.onClient(client, name));
      return;
    }
    // A page learns the reason of a refusal only from a close code.
    this.#refusals.handleUpgrade(request, socket, head, (refused) => {
      refused.on('error', () => refused.terminate());
      closeWithin(refused, closeCode, CLOSING_MS);
    });
  }

  /** The close code if the connection is refused. */
  #refusalOf({ headers }: IncomingMessage, name: string): number | undefined {
    const { origins, hasRoom } = this.#options;
    const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
    if (!this.#hasToken(protocols)) return CLOSE.token;
    // Programs other than browsers send no origin. They have shown the token.
    if (origins && headers.origin !== undefined && !origins.includes(headers.origin)) return CLOSE.origin;
    if (!protocols.includes(SUBPROTOCOL) || !clientName.safeParse(name).success) return CLOSE.protocol;
    return hasRoom(name) ? undefined : CLOSE.full;
  }

  /** Compares hashes of equal length in constant time. */
  #hasToken(protocols: readonly string[]): boolean {
    const given = protocols.find((each) => each.startsWith(TOKEN_PREFIX))?.slice(TOKEN_PREFIX.length) ?? '';
    return timingSafeEqual(hashOf(Buffer.from(given, 'base64url')), this.#tokenHash);
  }
}

/** @throws AccError `ACC_INVALID_OPTION` for a certificate or key that cannot be used. */
function tlsServer(tls: NonNullable<ListenOptions['tls']>): Server {
  try {
    return createTlsServer(tls);
  } catch (cause) {
    throw new AccError(
      'ACC_INVALID_OPTION',
      `startCoordinator.tls cannot be used: ${(cause as Error).message}.`,
      {
        help: 'Pass the certificate (chain) and its private key as PEM texts.',
        cause,
      },
    );
  }
}

/** The name that a client gives itself in its address, or '' if there is none. */
function nameIn(path: string): string {
  const url = URL.canParse(path, 'ws://any') ? new URL(path, 'ws://any') : undefined;
  return url?.searchParams.get('name') ?? '';
}

function hashOf(token: string | Buffer): Buffer {
  return createHash('sha256').update(token).digest();
}

function cannotListen(host: string, port: number, cause: Error): AccError {
  return new AccError(
    'ACC_FEDERATED_LISTEN',
    `The coordinator cannot listen on ${host}:${port}: ${cause.message}.`,
    {
      help: 'Choose another port, or 0 for a free one. The host must be an address of this machine.',
      cause,
      details: { host, port },
    },
  );
}
