import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { AccError } from '@acc/contract';
import type { Registry } from 'prom-client';

/** Serves `GET /metrics` over HTTP. It does not keep the process alive. */
export class MetricsEndpoint {
  readonly #registry: Registry;
  readonly #host: string;
  readonly #port: number;
  #server: Server | undefined;

  constructor(registry: Registry, host: string, port: number) {
    this.#registry = registry;
    this.#host = host;
    this.#port = port;
  }

  /** @throws AccError `ACC_PORT_TAKEN`. */
  async open(): Promise<void> {
    this.#server = createServer((request, response) => {
      if (request.url?.split('?')[0] !== '/metrics') return void response.writeHead(404).end();
      void this.#registry.metrics().then((text) => {
        response.writeHead(200, { 'content-type': this.#registry.contentType }).end(text);
      });
    });
    this.#server.listen(this.#port, this.#host);
    try {
      await once(this.#server, 'listening');
    } catch (cause) {
      throw new AccError('ACC_PORT_TAKEN', `prometheus: ${(cause as Error).message}`, {
        help: 'Choose another port.',
        cause,
      });
    }
    this.#server.unref();
  }

  async close(): Promise<void> {
    const server = this.#server!;
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
}
