import { AccError } from '../errors/errors.js';

export interface SentRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestInit['body'];
  /** Aborts the request. Trackers pass the signal of the call's stamp. */
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The whole body. */
  readonly body: string;
}

/** Statuses after which the same request may succeed later. */
const TRANSIENT = [408, 425, 429, 500, 502, 503, 504];
const SHOWN_CHARACTERS = 500;

/**
 * Sends one HTTP request of a tracker, without retries. The bus retries, depending on the error's
 * code.
 *
 * @returns An answer with a status from 200 to 299.
 * @throws AccError `ACC_TRACKER_UNAVAILABLE` if the server cannot be reached, closes the connection
 * early, or answers 408, 425, 429, 500, 502, 503 or 504; `details.retryAfterMs` is set if the
 * server sent it. `ACC_TRACKER_REFUSED` for any other answer, with `details.status` and
 * `details.body`. `ACC_INVALID_OPTION` for an invalid URL or header, or a URL with a password.
 */
export async function sendRequest(url: string | URL, request: SentRequest = {}): Promise<Answer> {
  const target = httpUrl(url);
  for (const [name, value] of Object.entries(request.headers ?? {})) requireHeader(name, value);
  const what = `${request.method ?? 'GET'} ${target.origin}${target.pathname}`;
  const { body: sent, ...others } = request;
  // With a streamed body, the answer is read after the body is sent.
  const init = sent instanceof ReadableStream ? { ...others, body: sent, duplex: 'half' } : request;
  let status: number;
  let headers: Headers;
  let body: string;
  try {
    const response = await fetch(target, init as RequestInit);
    ({ status, headers } = response);
    body = await response.text();
  } catch (cause) {
    throw new AccError(
      'ACC_TRACKER_UNAVAILABLE',
      `${what}: ${request.signal?.aborted ? 'it took too long' : reasonOf(cause)}.`,
      {
        help: 'Check that the server runs and can be reached from this host.',
        cause,
      },
    );
  }
  if (status >= 200 && status < 300) return { status, headers, body };
  const details = { status, body, ...retryAfter(headers) };
  const code = TRANSIENT.includes(status) ? 'ACC_TRACKER_UNAVAILABLE' : 'ACC_TRACKER_REFUSED';
  throw new AccError(code, `${what} was answered ${status}: ${body.slice(0, SHOWN_CHARACTERS)}`, {
    help: helpFor(status),
    details,
  });
}

function helpFor(status: number): string {
  if (status === 401 || status === 403) return 'Check the key or token of the tracker.';
  if (TRANSIENT.includes(status)) return 'The server is busy. The call is repeated.';
  return 'Check the URL and the options of the tracker.';
}

function httpUrl(url: string | URL): URL {
  const parsed = URL.canParse(String(url)) ? new URL(url) : undefined;
  // fetch would refuse it, with an error that shows the password.
  if (parsed?.username || parsed?.password) {
    throw new AccError('ACC_INVALID_OPTION', `The URL of ${parsed.host} has a user name or password.`, {
      help: 'Take them out of the URL, and give them by the options of the tracker that are for them.',
    });
  }
  if (parsed && /^https?:$/.test(parsed.protocol)) return parsed;
  throw new AccError('ACC_INVALID_OPTION', `'${String(url)}' is not the URL of an HTTP server.`, {
    help: 'Write it with its scheme: http://127.0.0.1:5000.',
  });
}

/** The value may be a secret, so the message does not contain it. */
function requireHeader(name: string, value: string): void {
  try {
    new Headers([[name, value]]);
  } catch {
    throw new AccError(
      'ACC_INVALID_OPTION',
      `The value of the header '${name}' has characters that HTTP does not allow.`,
      {
        help: 'If it is a token, check it for line breaks and characters outside Latin-1.',
      },
    );
  }
}

/**
 * The reason for a failed request. fetch only says "fetch failed"; the reason is its cause. With
 * several addresses, the causes are in a list.
 */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  const { code, message: inner } = (cause ?? {}) as { code?: string; message?: string };
  return inner || code || message;
}

function retryAfter(headers: Headers): { retryAfterMs?: number } {
  const text = headers.get('retry-after');
  if (text === null) return {};
  const seconds = Number(text);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? { retryAfterMs: Math.max(0, ms) } : {};
}
