import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import type { AddressInfo } from 'node:net';

/** One request of `comet upload`. */
export interface CometRequest {
  /** The last parts of the path, such as `experiment/metric`. */
  readonly action: string;
  readonly query: Readonly<Record<string, string>>;
  /** Undefined for a file. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** The content of a file. */
  readonly file: string | undefined;
}

/** Comet, as far as `comet upload` needs it. */
export class CometBackend {
  readonly requests: CometRequest[] = [];
  readonly #server: Server = createServer((request, response) => {
    void this.#answer(request).then((answer) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async open(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** The bodies of the requests of one kind. */
  bodies(action: string): Readonly<Record<string, unknown>>[] {
    return this.requests.filter((one) => one.action === action).map(({ body }) => body!);
  }

  async #answer(request: IncomingMessage): Promise<object> {
    const sent = await buffer(request);
    const content = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
    const { pathname, searchParams } = new URL(request.url!, this.url);
    const type = request.headers['content-type'] ?? '';
    const form = type.startsWith('multipart/')
      ? await new Response(content, { headers: { 'content-type': type } }).formData()
      : undefined;
    this.requests.push({
      action: pathname.split('/').slice(-2).join('/'),
      query: Object.fromEntries(searchParams),
      body: type.startsWith('application/json')
        ? (JSON.parse(content.toString()) as Record<string, unknown>)
        : undefined,
      file: form && (await (form.get('file') as File).text()),
    });
    const beats = {
      is_alive_beat_duration_millis: 10_000,
      gpu_monitor_interval_millis: 10_000,
      cpu_monitor_interval_millis: 10_000,
    };
    const run = { runId: 'run', project_id: 'project', ws_url: 'ws://unused', focusLink: `${this.url}/` };
    return { version: '3.0.0', ...beats, ...run, sdk_toggles: { use_http_messages: true } };
  }
}
