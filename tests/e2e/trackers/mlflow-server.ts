import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startServer, type Background } from './background.js';
import { newFolder } from './record-run.js';
import { venv } from './python/venv.js';

/** MLflow's own server. It keeps its data when it is stopped and started again. */
export class MlflowServer {
  readonly #folder = newFolder();
  readonly #port: number;
  #running: Background | undefined;

  constructor(port: number) {
    this.#port = port;
    mkdirSync(join(this.#folder, 'artifacts'));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const python = await venv('mlflow');
    const args = [
      'server',
      '--backend-store-uri',
      'sqlite:///mlflow.db',
      '--artifacts-destination',
      './artifacts',
    ];
    const listen = ['--host', '127.0.0.1', '--port', String(this.#port), '--workers', '1'];
    this.#running = await startServer(python.bin('mlflow'), [...args, ...listen], {
      url: `${this.url}/health`,
      cwd: this.#folder,
      env: { MLFLOW_SERVER_ENABLE_JOB_EXECUTION: 'false', MLFLOW_DISABLE_TELEMETRY: 'true' },
    });
  }

  async stop(): Promise<void> {
    await this.#running?.stop();
    this.#running = undefined;
  }

  async call<T>(method: 'GET' | 'POST', path: string, parameters: Record<string, unknown>): Promise<T> {
    const query =
      method === 'GET' ? `?${new URLSearchParams(parameters as Record<string, string>).toString()}` : '';
    const response = await fetch(`${this.url}/api/2.0/mlflow/${path}${query}`, {
      method,
      ...(method === 'POST' && { body: JSON.stringify(parameters) }),
      headers: { 'content-type': 'application/json' },
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  async run(runId: string): Promise<MlflowRunData> {
    return (await this.call<{ run: MlflowRunData }>('GET', 'runs/get', { run_id: runId })).run;
  }

  /** All values of a metric, in the order of their steps. */
  async history(runId: string, key: string): Promise<{ step: number; value: number; timestamp: number }[]> {
    const found: { step: number; value: number; timestamp: number }[] = [];
    let token = '';
    do {
      const page = {
        run_id: runId,
        metric_key: key,
        max_results: 25_000,
        ...(token && { page_token: token }),
      };
      const answer = await this.call<{ metrics?: typeof found; next_page_token?: string }>(
        'GET',
        'metrics/get-history',
        page,
      );
      found.push(...(answer.metrics ?? []));
      token = answer.next_page_token ?? '';
    } while (token);
    return found.map((one) => ({ ...one, step: Number(one.step) })).sort((a, b) => a.step - b.step);
  }

  async artifact(runId: string, path: string): Promise<Buffer> {
    const query = new URLSearchParams({ run_id: runId, path });
    const response = await fetch(`${this.url}/get-artifact?${query.toString()}`);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  }

  /** Names of the files under a folder. */
  async artifacts(runId: string, path = ''): Promise<string[]> {
    const { files = [] } = await this.call<{ files?: { path: string; is_dir: boolean }[] }>(
      'GET',
      'artifacts/list',
      {
        run_id: runId,
        path,
      },
    );
    const nested = files.map((file) =>
      file.is_dir ? this.artifacts(runId, file.path) : Promise.resolve([file.path]),
    );
    return (await Promise.all(nested)).flat();
  }
}

export interface MlflowRunData {
  readonly info: { readonly run_id: string; readonly status: string; readonly run_name: string };
  readonly data: {
    readonly metrics?: readonly { key: string; value: number | string }[];
    readonly params?: readonly { key: string; value: string }[];
    readonly tags?: readonly { key: string; value: string }[];
  };
}
