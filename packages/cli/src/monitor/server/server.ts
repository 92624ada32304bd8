import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { AccError } from '@acc/contract';
import type { RunSet } from '../runs/run-set.js';
import { answerOf, ask } from './api.js';
import { EventStreams } from './event-streams.js';
import { loadedFile } from './loaded-files.js';
import { cookieName, cookieOf, isSameSecret, refusalOf } from './guard.js';
import { pageFiles } from './shell.js';

const HOST = '127.0.0.1';
const FIRST_CHOICE = 7007;
const TOKEN_BYTES = 24;
/** The requests that exchange the token for the cookie, and that ask a job, have no more. */
const MOST_BODY_BYTES = 256;

const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
};

/**
 * Serves the page and the figures of runs to a browser of this machine that has the token. It changes nothing,
 * unless it is attached to a job: then it writes requests to that job.
 */
export class MonitorServer {
  readonly #token = randomBytes(TOKEN_BYTES).toString('base64url');
  readonly #server: Server;
  readonly #files = pageFiles();
  readonly #streams: EventStreams;

  private constructor(private readonly runs: RunSet) {
    this.#streams = new EventStreams(runs);
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  /**
   * @param port 0: a free one. Undefined: 7007, or a free one.
   * @throws AccError `ACC_MONITOR_PORT`.
   */
  static async start(runs: RunSet, port: number | undefined): Promise<MonitorServer> {
    const monitor = new MonitorServer(runs);
    await monitor.#listen(port);
    return monitor;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The address with the token. Browsers do not send what is after `#`. */
  get url(): string {
    return `http://${HOST}:${this.port}/#${this.#token}`;
  }

  async close(): Promise<void> {
    this.#streams.close();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
    await this.runs.close();
  }

  async #listen(port: number | undefined): Promise<void> {
    try {
      await this.#listenAt(port ?? FIRST_CHOICE);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (port !== undefined) throw cannotListen(port, error as Error);
      if (code !== 'EADDRINUSE' && code !== 'EACCES') throw cannotListen(FIRST_CHOICE, error as Error);
      await this.#listenAt(0);
    }
  }

  async #listenAt(port: number): Promise<void> {
    this.#server.listen({ port, host: HOST, exclusive: true });
    await once(this.#server, 'listening');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
      const refusal = refusalOf(request);
      if (refusal) return void sendJson(response, 403, { code: REFUSED, message: refusal });
      const { pathname, searchParams } = new URL(request.url ?? '/', `http://${HOST}`);
      if (request.method === 'POST' && pathname === '/api/session')
        return await this.#startSession(request, response);
      if (request.method === 'POST' && pathname === '/api/ask') return await this.#ask(request, response);
      if (request.method !== 'GET') return void sendJson(response, 405, { message: 'The page only reads.' });
      const file = Object.hasOwn(this.#files, pathname) ? this.#files[pathname] : undefined;
      if (file) return void response.writeHead(200, { 'Content-Type': file.type }).end(file.body);
      if (!this.#hasSession(request))
        return void sendJson(response, 401, { code: REFUSED, message: NO_SESSION });
      if (pathname === '/api/events') return this.#streams.add(response);
      const loaded = await loadedFile(this.runs, pathname, searchParams);
      if (loaded) return void response.writeHead(200, loaded.headers).end(loaded.body);
      const { status, body } = await answerOf(this.runs, pathname, searchParams);
      sendJson(response, status, body);
    } catch (error) {
      sendJson(response, 500, { message: (error as Error).message });
    }
  }

  #hasSession(request: IncomingMessage): boolean {
    return isSameSecret(cookieOf(request, cookieName(request)) ?? '', this.#token);
  }

  /** Only the page itself may ask: a browser names the origin of each POST. */
  async #ask(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers.origin === undefined)
      return void sendJson(response, 403, {
        code: REFUSED,
        message: 'Only the page of acc monitor may ask.',
      });
    if (!this.#hasSession(request))
      return void sendJson(response, 401, { code: REFUSED, message: NO_SESSION });
    const { status, body } = await ask(this.runs, jsonOf(await bodyOf(request)));
    sendJson(response, status, body);
  }

  /** Gives the cookie for the token. */
  async #startSession(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const given = await bodyOf(request);
    if (!isSameSecret(given, this.#token))
      return void sendJson(response, 401, { code: REFUSED, message: NO_SESSION });
    const cookie = `${cookieName(request)}=${this.#token}`;
    response.setHeader('Set-Cookie', `${cookie}; HttpOnly; SameSite=Strict; Path=/`);
    sendJson(response, 200, {});
  }
}

const REFUSED = 'ACC_MONITOR_REFUSED';
const NO_SESSION = 'The token is missing or wrong. Open the address that acc monitor printed.';

/** The text of a short request. Empty for a longer one, and for one without a length. */
async function bodyOf(request: IncomingMessage): Promise<string> {
  const length = Number(request.headers['content-length'] ?? NaN);
  return length <= MOST_BODY_BYTES ? await text(request) : '';
}

function jsonOf(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return undefined;
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

function cannotListen(port: number, cause: Error): AccError {
  return new AccError('ACC_MONITOR_PORT', `acc monitor cannot listen on port ${port}: ${cause.message}.`, {
    help: 'Another program has the port, or this user may not take it. Choose another one, or a free one: --port 0.',
    cause,
  });
}
