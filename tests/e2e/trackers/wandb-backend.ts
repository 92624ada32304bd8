import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

/**
 * The lines that a file stream received, by file name. `wandb-history.jsonl` has a line for each
 * row.
 */
export type Stream = Record<string, { readonly offset: number; readonly content: string[] }[]>;

type Fields = Record<string, unknown>;

/** The part of W&B's service that its own programs need to upload a run, on this machine. */
export class WandbBackend {
  /** Bodies of the mutation UpsertBucket, with names, tags and configs of runs. */
  readonly upserts: Fields[] = [];
  /** By run. */
  readonly streams = new Map<string, Stream>();
  /** The bytes of files that were put into storage, by path. */
  readonly files = new Map<string, Buffer>();
  readonly artifacts: Fields[] = [];
  readonly committed: unknown[] = [];
  readonly alerts: Fields[] = [];
  readonly operations: string[] = [];
  /** Exit codes by run. */
  readonly exits = new Map<string, number>();
  #server: Server | undefined;

  async open(): Promise<void> {
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async close(): Promise<void> {
    this.#server!.closeAllConnections();
    this.#server!.close();
    await once(this.#server!, 'close');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server!.address() as AddressInfo).port}`;
  }

  /** The rows of a run's history. */
  rows(run: string): Fields[] {
    const chunks = this.streams.get(run)?.['wandb-history.jsonl'] ?? [];
    const sorted = [...chunks].sort((a, b) => a.offset - b.offset);
    return sorted.flatMap(({ content }) => content.map(parsed));
  }

  /** The last summary of a run. */
  summary(run: string): Fields {
    const chunks = this.streams.get(run)?.['wandb-summary.json'] ?? [];
    return parsed(chunks.at(-1)!.content.at(-1)!);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    let body = Buffer.concat(chunks);
    if (request.headers['content-encoding'] === 'gzip') body = gunzipSync(body);
    const { pathname } = new URL(request.url!, 'http://x');
    const json = (value: unknown) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
    if (pathname === '/graphql')
      return void json({ data: this.#graphql(JSON.parse(body.toString()) as Query) });
    if (pathname.startsWith('/storage/')) {
      this.files.set(decodeURIComponent(pathname.slice('/storage/'.length)), body);
      return void response.end();
    }
    const stream = /^\/files\/[^/]+\/[^/]+\/([^/]+)\/file_stream$/.exec(pathname);
    if (stream) {
      this.#stream(stream[1]!, JSON.parse(body.toString()) as StreamRequest);
      return void json({});
    }
    response.writeHead(404).end();
  }

  #stream(run: string, { files = {}, complete, exitcode }: StreamRequest): void {
    const streams = this.streams.get(run) ?? {};
    this.streams.set(run, streams);
    for (const [name, part] of Object.entries(files)) (streams[name] ??= []).push(part);
    if (complete) this.exits.set(run, exitcode ?? 0);
  }

  #graphql({ query, variables }: Query): unknown {
    const operation = /(?:query|mutation)\s+(\w+)/.exec(query)?.[1] ?? '';
    this.operations.push(operation);
    const answer = this.#answers[operation];
    return answer ? answer(variables) : {};
  }

  readonly #answers: Record<string, (variables: Fields) => unknown> = {
    ServerFeaturesQuery: () => ({ serverInfo: { features: [] } }),
    UpsertBucket: (variables) => {
      this.upserts.push(variables);
      const { name, project, displayName } = variables;
      const entity = { id: 'e', name: 'somebody' };
      const bucket = {
        id: name,
        name,
        displayName,
        project: { id: 'p', name: project, entity },
        historyLineCount: 0,
      };
      return { upsertBucket: { bucket, inserted: true } };
    },
    RunResumeStatus: ({ name, project }) => ({
      model: {
        id: 'p',
        name: project,
        entity: { id: 'e', name: 'somebody' },
        bucket: this.#resumeStatus(name as string),
      },
    }),
    NotifyScriptableRunAlert: (variables) => {
      this.alerts.push(variables);
      return { notifyScriptableRunAlert: { success: true } };
    },
    CreateRunFiles: ({ files }) => ({
      createRunFiles: {
        runID: 'r',
        uploadHeaders: [],
        files: (files as string[]).map((name) => ({ name, uploadUrl: this.#storage(name) })),
      },
    }),
    CreateArtifact: ({ input }) => {
      this.artifacts.push(input as Fields);
      const artifact = { id: 'a', state: 'PENDING', artifactSequence: { latestArtifact: null } };
      return { createArtifact: { artifact } };
    },
    CreateArtifactManifest: () => {
      const file = {
        id: 'f',
        name: 'manifest',
        displayName: 'manifest',
        uploadUrl: this.#storage('manifest'),
        uploadHeaders: [],
      };
      return { createArtifactManifest: { artifactManifest: { id: 'm', file } } };
    },
    CreateArtifactFiles: ({ input }) => {
      const { artifactFiles } = input as { artifactFiles: { name: string }[] };
      const edges = artifactFiles.map(({ name }) => ({
        node: {
          id: name,
          name,
          displayName: name,
          storagePath: `store/${name}`,
          uploadUrl: this.#storage(`artifact/${name}`),
          uploadHeaders: [],
          artifact: { id: 'a' },
        },
      }));
      return { createArtifactFiles: { files: { edges } } };
    },
    CommitArtifact: (variables) => {
      this.committed.push(variables);
      return { commitArtifact: { artifact: { id: 'a', digest: 'd' } } };
    },
  };

  #storage(name: string): string {
    return `${this.url}/storage/${encodeURIComponent(name)}`;
  }

  /** The state of a run on the service, for a second upload. */
  #resumeStatus(name: string): unknown {
    const streams = this.streams.get(name);
    if (!streams) return null;
    const lines = (file: string) => (streams[file] ?? []).flatMap(({ content }) => content);
    const history = lines('wandb-history.jsonl');
    return {
      name,
      summaryMetrics: lines('wandb-summary.json').at(-1) ?? '{}',
      config: '{}',
      displayName: null,
      historyLineCount: history.length,
      eventsLineCount: lines('wandb-events.jsonl').length,
      logLineCount: 0,
      historyTail: JSON.stringify(history.slice(-1)),
      eventsTail: JSON.stringify(lines('wandb-events.jsonl').slice(-1)),
      tags: [],
      wandbConfig: '{}',
    };
  }
}

interface Query {
  readonly query: string;
  readonly variables: Fields;
}

interface StreamRequest {
  readonly files?: Record<string, { offset: number; content: string[] }>;
  readonly complete?: boolean;
  readonly exitcode?: number;
}

/** W&B's JSON has NaN and infinities without quotes. */
function parsed(json: string): Fields {
  const quoted = json.replace(/(?<=[:[,]\s*)(NaN|-?Infinity)/g, '"$1"');
  return JSON.parse(quoted) as Fields;
}
