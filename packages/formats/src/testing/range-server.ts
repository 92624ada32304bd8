import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A failure that a {@link RangeServer} simulates instead of serving a range. */
export type Mishap = 'none' | 'whole file' | 'status 503' | 'cut off';

/** A web server over files in memory that writes down which bytes were asked for. */
export class RangeServer implements AsyncDisposable {
  readonly files = new Map<string, Uint8Array>();
  /** The ranges that were served, as `[start, end)`, by the name of the file. */
  readonly ranges: { readonly file: string; readonly start: number; readonly end: number }[] = [];
  /** The failures of the next requests. */
  readonly mishaps: Mishap[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  static async start(files: Readonly<Record<string, Uint8Array | string>>): Promise<RangeServer> {
    const server = new RangeServer();
    for (const [name, content] of Object.entries(files)) {
      server.files.set(name, typeof content === 'string' ? Buffer.from(content) : content);
    }
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  addressOf(file: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${file}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const file = request.url!.slice(1);
    const content = this.files.get(file);
    const mishap = this.mishaps.shift() ?? 'none';
    if (mishap === 'status 503') return void response.writeHead(503).end();
    if (!content) return void response.writeHead(404).end();
    if (mishap === 'whole file') return void response.writeHead(200).end(content);
    const etag = `"${content.length}"`;
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range!)!;
    const start = Number(first);
    const end = Math.min(Number(last) + 1, content.length);
    if (start >= content.length) {
      return void response.writeHead(416, { 'content-range': `bytes */${content.length}`, etag }).end();
    }
    const part = content.subarray(start, end);
    const range = `bytes ${start}-${end - 1}/${content.length}`;
    response.writeHead(206, { 'content-range': range, 'content-length': part.length, etag });
    if (mishap === 'cut off')
      return void response.write(part.subarray(0, part.length >> 1), () => response.destroy());
    this.ranges.push({ file, start, end });
    response.end(part);
  }
}
