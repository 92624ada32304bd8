import { AccError, isAccError, isRecord, sendRequest, type Answer, type SentRequest } from '@acc/contract';
import type { ResolvedOptions } from './options.js';

/** The first version of the API that has all requests of the tracker: ClearML Server 1.0. */
const VERSION = 'v2.13';
/** Every call waits for the log-in, so one that is not answered must end. */
const LOG_IN_MS = 30_000;

/** A client of the REST API of a ClearML server and of its server of files. */
export class ClearmlClient {
  readonly #options: ResolvedOptions;
  #token: Promise<string> | undefined;

  constructor(options: ResolvedOptions) {
    this.#options = options;
  }

  /**
   * @param action For example `tasks.create`.
   * @throws AccError like {@link sendRequest}, with ClearML's message.
   */
  call<T>(action: string, parameters: object, signal?: AbortSignal): Promise<T> {
    const body = JSON.stringify(parameters);
    return this.#post(action, { body, signal }, 'application/json');
  }

  /** Sends events. @throws AccError `ACC_TRACKER_REFUSED` if the server did not take all of them. */
  async addEvents(events: readonly object[], signal: AbortSignal): Promise<void> {
    const body = events.map((event) => JSON.stringify(event)).join('\n');
    const request = { body, signal };
    const answer = await this.#post<EventsAnswer>('events.add_batch', request, 'application/json-lines');
    if (!answer.errors) return;
    const what = JSON.stringify(answer.errors_info ?? {});
    throw new AccError('ACC_TRACKER_REFUSED', `ClearML did not take ${answer.errors} events: ${what}`, {
      help: 'Check that the task still exists in ClearML.',
    });
  }

  /** Stores a file. Returns its URL. @throws AccError `ACC_TRACKER_REFUSED` if the server is not known. */
  async upload(parts: readonly string[], content: Blob, signal: AbortSignal): Promise<string> {
    const { filesUrl } = this.#options;
    if (filesUrl === undefined) {
      throw new AccError('ACC_TRACKER_REFUSED', 'The URL of ClearML’s server of files is not known.', {
        help: 'Set the option filesUrl, or CLEARML_FILES_HOST.',
      });
    }
    const path = parts.map(fileName).join('/');
    const form = new FormData();
    form.append(path, content, path.split('/').at(-1)!);
    await this.#authorized((headers) =>
      sendRequest(filesUrl, { method: 'POST', body: form, headers, signal }),
    );
    return `${filesUrl}/${path.split('/').map(encodeURIComponent).join('/')}`;
  }

  async #post<T>(action: string, request: SentRequest, type: string): Promise<T> {
    const url = `${this.#options.url}/${VERSION}/${action}`;
    const send = (headers: Readonly<Record<string, string>>) =>
      sendRequest(url, { ...request, method: 'POST', headers: { ...headers, 'content-type': type } });
    return dataOf(url, await this.#authorized(send)) as T;
  }

  /** Sends a request with a token. A token that has expired is replaced once. */
  async #authorized<T>(send: (headers: Readonly<Record<string, string>>) => Promise<T>): Promise<T> {
    const isFresh = this.#token === undefined;
    const token = (this.#token ??= this.#logIn());
    const attempt = async (by: Promise<string>) => send({ authorization: `Bearer ${await by}` });
    try {
      return await attempt(token);
    } catch (error) {
      if (!isAccError(error) || error.details['status'] !== 401) throw explained(error);
      // Another call may have replaced it.
      if (this.#token === token) this.#token = undefined;
      if (isFresh) throw explained(error);
    }
    return attempt((this.#token ??= this.#logIn())).catch((error: unknown) => {
      throw explained(error);
    });
  }

  async #logIn(): Promise<string> {
    const { authorization } = this.#options;
    const url = `${this.#options.url}/auth.login`;
    try {
      const headers = { authorization, 'content-type': 'application/json' };
      const signal = AbortSignal.timeout(LOG_IN_MS);
      const { token } = dataOf(url, await sendRequest(url, { method: 'POST', body: '{}', headers, signal }));
      if (typeof token !== 'string') throw notClearml(url);
      return token;
    } catch (error) {
      this.#token = undefined;
      throw error;
    }
  }
}

interface EventsAnswer {
  readonly errors?: number;
  readonly errors_info?: object;
}

/** @throws AccError `ACC_TRACKER_REFUSED` if another program answered, such as ClearML's web server. */
function dataOf(url: string, { body }: Answer): Record<string, unknown> {
  const data = parsed(body)?.['data'];
  if (!isRecord(data)) throw notClearml(url);
  return data;
}

function parsed(body: string): Record<string, unknown> | undefined {
  try {
    const answer: unknown = JSON.parse(body);
    return isRecord(answer) ? answer : undefined;
  } catch {
    return undefined;
  }
}

function notClearml(url: string): AccError {
  return new AccError('ACC_TRACKER_REFUSED', `${url}: the answer is not that of a ClearML API server.`, {
    help: 'Give the URL of the API server, as clearml.conf has it: its name begins with api., or its port is 8008.',
  });
}

/** Adds the message of ClearML's answer to the error. */
function explained(error: unknown): unknown {
  if (!isAccError(error, 'ACC_TRACKER_REFUSED')) return error;
  const { body = '', status } = error.details as { body?: string; status?: number };
  const meta = parsed(body)?.['meta'];
  const message = isRecord(meta) ? meta['result_msg'] : undefined;
  if (typeof message !== 'string') return error;
  return new AccError(error.code, `ClearML: ${message}`, {
    help:
      status === 401
        ? 'Check CLEARML_API_ACCESS_KEY and CLEARML_API_SECRET_KEY.'
        : 'Check that the task still exists in ClearML, and that the names of run and project have 3 characters or more.',
    cause: error,
    details: error.details,
  });
}

/** Replaces characters with a meaning in paths and URLs, as ClearML's own client does. */
function fileName(part: string): string {
  const hex = (character: string) => `0x${character.codePointAt(0)!.toString(16).padStart(2, '0')}`;
  return /^\.+$/.test(part) ? part.replaceAll('.', hex) : part.replaceAll(/[^\p{L}\p{N} ._-]/gu, hex);
}
