import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export const [ACCESS_KEY, SECRET_KEY] = ['key-of-the-test', 'secret-of-the-test'];

type Body = Readonly<Record<string, unknown>>;

/** An event as ClearML stores it. */
export interface StoredEvent {
  readonly type: string;
  readonly task: string;
  readonly metric?: string;
  readonly variant?: string;
  readonly iter?: number;
  readonly value?: number;
  readonly msg?: string;
  readonly url?: string;
  readonly plot_str?: string;
  readonly timestamp: number;
}

interface StoredTask extends Body {
  readonly id: string;
  status: string;
  hyperparams: Record<string, Record<string, object>>;
  execution: { artifacts: Record<string, unknown>[] };
}

interface Answer {
  readonly status: number;
  readonly data?: object;
  readonly message?: string;
}

const STATUS: Readonly<Record<string, string>> = {
  started: 'in_progress',
  completed: 'completed',
  failed: 'failed',
  stopped: 'stopped',
};

/** The API server and the server of files, as far as the tracker and `clearml` use them. */
export class ClearmlBackend {
  readonly tasks = new Map<string, StoredTask>();
  readonly projects = new Map<string, string>();
  /** Events by the fields that identify them in ClearML: an event that comes again is stored once. */
  readonly events = new Map<string, StoredEvent>();
  readonly files = new Map<string, Buffer>();
  /** Every request to the API, in order. */
  readonly requests: { readonly action: string; readonly body: unknown }[] = [];
  /** The number of requests that wait. */
  held = 0;
  /** The number of tokens handed out. Only the last one is valid. */
  tokens = 0;
  #server: Server | undefined;
  #port = 0;
  #hold: { readonly action: string; readonly until: Promise<void> } | undefined;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async open(): Promise<void> {
    this.#server = createServer((request, response) => {
      void this.#answer(request).then((answer) => {
        if (Buffer.isBuffer(answer)) return response.writeHead(200).end(answer);
        const { status, data = {}, message = '' } = answer;
        const meta = { result_code: status, result_msg: message, result_subcode: 0 };
        response.writeHead(status, { 'content-type': 'application/json' });
        return response.end(JSON.stringify({ meta, data }));
      });
    });
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server!.closeAllConnections();
    this.#server!.close();
    await once(this.#server!, 'close');
  }

  /** The next request of this action waits until the returned function is called. */
  hold(action: string): () => void {
    let open!: () => void;
    this.#hold = { action, until: new Promise((resolve) => (open = resolve)) };
    return open;
  }

  eventsOf(task: string, type: string): StoredEvent[] {
    return [...this.events.values()].filter((event) => event.task === task && event.type === type);
  }

  async #answer(request: IncomingMessage): Promise<Answer | Buffer> {
    const content = await buffer(request);
    const path = decodeURIComponent(request.url!.split('?')[0]!);
    const file = this.files.get(path.slice(1));
    if (request.method === 'GET' && file) return file;
    const [action = ''] = path.split('/').slice(-1);
    if (action === 'auth.login') return this.#logIn(request.headers.authorization);
    if (request.headers.authorization !== `Bearer ${this.#token}`)
      return refusal(401, 'Unauthorized (invalid token)');
    if (path === '/') return this.#store(request, content);
    const lines = request.headers['content-type'] === 'application/json-lines';
    const body = lines
      ? content
          .toString()
          .split('\n')
          .map((line) => JSON.parse(line) as StoredEvent)
      : (JSON.parse(content.toString() || '{}') as Body);
    this.requests.push({ action, body });
    if (this.#hold?.action === action) {
      const { until } = this.#hold;
      this.#hold = undefined;
      this.held++;
      await until;
    }
    return this.#act(action, body);
  }

  /** A JSON Web Token that is not signed. */
  get #token(): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const exp = 4_000_000_000;
    return `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ exp, api_version: '2.13', n: this.tokens })}.c2ln`;
  }

  #logIn(authorization = ''): Answer {
    const key = Buffer.from(`${ACCESS_KEY}:${SECRET_KEY}`).toString('base64');
    if (authorization !== `Basic ${key}`) return refusal(401, 'Unauthorized (invalid credentials)');
    this.tokens++;
    return { status: 200, data: { token: this.#token } };
  }

  async #store(request: IncomingMessage, content: Buffer): Promise<Answer> {
    const headers = { 'content-type': request.headers['content-type']! };
    const form = await new Response(content as Buffer<ArrayBuffer>, { headers }).formData();
    for (const [path, file] of form) this.files.set(path, Buffer.from(await (file as File).arrayBuffer()));
    return { status: 200 };
  }

  #act(action: string, body: Body | StoredEvent[]): Answer {
    if (Array.isArray(body)) return this.#addEvents(body);
    const [service, verb = ''] = action.split('.');
    const task = this.tasks.get(String(body['task']));
    if (service === 'projects') return this.#project(verb, body);
    if (action === 'tasks.create') return this.#createTask(body);
    if (action.startsWith('tasks.get_all')) return this.#findTasks(body);
    if (!task) return refusal(400, `Invalid task id: id=${String(body['task'])}`);
    if (action === 'tasks.get_by_id') return { status: 200, data: { task } };
    if (service === 'events') return this.#read(verb, task.id);
    if (STATUS[verb]) task.status = STATUS[verb];
    if (verb === 'edit_hyper_params') edit(task, body);
    if (verb === 'add_or_update_artifacts') {
      task.execution.artifacts.push(...(body['artifacts'] as Record<string, unknown>[]));
    }
    return { status: 200, data: { updated: 1 } };
  }

  #project(verb: string, { name, project }: Body): Answer {
    if (verb === 'create') {
      const id = `project-${this.projects.size}`;
      this.projects.set(String(name), id);
      return { status: 200, data: { id } };
    }
    const all = [...this.projects].map(([own, id]) => ({ name: own, id }));
    if (verb === 'get_by_id') return { status: 200, data: { project: all.find(({ id }) => id === project) } };
    return { status: 200, data: { projects: all.filter((one) => new RegExp(String(name)).test(one.name)) } };
  }

  #createTask(body: Body): Answer {
    const id = `task-${this.tasks.size}`;
    const more = { status: 'created', hyperparams: {}, execution: { artifacts: [] }, output: {} };
    this.tasks.set(id, { ...body, id, ...more });
    return { status: 200, data: { id } };
  }

  #findTasks({ _any_, id }: Body): Answer {
    const pattern = (_any_ as { pattern: string } | undefined)?.pattern;
    const ids = id as string[] | undefined;
    const found = [...this.tasks.values()].filter(
      (task) => (pattern === undefined || task['comment'] === pattern) && (ids?.includes(task.id) ?? true),
    );
    return { status: 200, data: { tasks: found } };
  }

  #addEvents(events: readonly StoredEvent[]): Answer {
    const known = events.filter(({ task }) => this.tasks.has(task));
    for (const event of known) {
      const { task, iter, metric, variant } = event;
      const id =
        event.type === 'log' ? String(this.events.size) : [event.type, task, iter, metric, variant].join();
      this.events.set(id, event);
    }
    if (known.length === 0) return refusal(400, 'Events not added');
    const errors = events.length - known.length;
    return {
      status: 200,
      data: { added: known.length, errors, errors_info: errors > 0 ? { unknown: errors } : {} },
    };
  }

  /** Answers the questions of `clearml` about events. */
  #read(verb: string, task: string): Answer {
    if (verb === 'scalar_metrics_iter_histogram') {
      const data: Record<string, Record<string, { name: string; x: number[]; y: number[] }>> = {};
      for (const { metric, variant, iter, value } of this.eventsOf(task, 'training_stats_scalar')) {
        const series = ((data[metric!] ??= {})[variant!] ??= { name: variant!, x: [], y: [] });
        series.x.push(iter!);
        series.y.push(value!);
      }
      return { status: 200, data };
    }
    const type = { get_task_plots: 'plot', get_task_log: 'log' }[verb];
    if (type === undefined) return refusal(400, `no such request: events.${verb}`);
    const plots = this.eventsOf(task, type);
    return { status: 200, data: { plots, events: plots, returned: plots.length, total: plots.length } };
  }
}

function refusal(status: number, message: string): Answer {
  return { status, message };
}

function edit(task: StoredTask, { hyperparams, replace_hyperparams }: Body): void {
  if (replace_hyperparams === 'section') task.hyperparams = {};
  for (const item of hyperparams as { section: string; name: string }[]) {
    (task.hyperparams[item.section] ??= {})[item.name] = item;
  }
}
