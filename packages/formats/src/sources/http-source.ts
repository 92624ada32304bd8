import { AccError } from '@acc/contract';
import {
  LargeBodyError,
  MIN_BYTES_PER_SECOND,
  REQUEST_TIMEOUT_MS,
  requestWithin,
  sleep,
  SlowServerError,
} from '@acc/platform';
import { cannotRead, notFound } from '../errors.js';
import { rangedSource, rangeOf } from './ranged-source.js';
import type { HttpLimits, Source, SourceState } from './source.js';

/** Retries of a request that the server could not serve, or that did not reach it. */
const RETRIES = 5;
/** Retries of a request that the server answered too slowly. */
const SLOW_RETRIES = 1;
const FIRST_WAIT_MS = 100;
/** Statuses after which the same request may succeed. */
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504]);

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
}

/**
 * Asks for the first byte, which gives the size and shows that the server knows ranges.
 *
 * @throws AccError `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`, `ACC_DATA_RANGES`.
 */
export async function lookAtAddress(address: string, http: HttpLimits = {}): Promise<SourceState> {
  const answer = await ask({ address, http, range: rangeOf(0, 1), maxBytes: 1 });
  const total = /^bytes (?:0-0|\*)\/(\d+)$/.exec(answer.headers.get('content-range') ?? '')?.[1];
  const bytes = Number(total);
  if (!Number.isSafeInteger(bytes)) {
    throw cannotRead(shown(address), 'the server does not tell the size of the file');
  }
  return { location: address, bytes, tag: tagOf(answer), http };
}

/** A file on a web server that knows ranges. */
export function httpSource(state: SourceState): Source {
  const { location: address, http = {} } = state;
  return rangedSource(shown(address), state, async (range, maxBytes) => {
    const answer = await ask({ address, http, range, maxBytes });
    return { ...answer, tag: tagOf(answer) };
  });
}

function tagOf({ headers }: Answer): string {
  return headers.get('etag') ?? headers.get('last-modified') ?? '';
}

/** The address for messages: without a password. */
function shown(address: string): string {
  const url = new URL(address);
  if (url.password === '' && url.username === '') return address;
  url.username = '';
  url.password = '';
  return url.href;
}

interface RangeRequest {
  readonly address: string;
  readonly range: string;
  readonly maxBytes: number;
  readonly http: HttpLimits;
}

/** Asks for a range. A file that ends before it is an answer, too. */
async function ask(request: RangeRequest): Promise<Answer> {
  const { address } = request;
  for (let tries = 0; ; tries++) {
    const answer = await reach(request);
    if (answer instanceof LargeBodyError) throw cannotRead(shown(address), answer.message, { cause: answer });
    const isLast = tries === (answer instanceof SlowServerError ? SLOW_RETRIES : RETRIES);
    if (answer instanceof Error) {
      if (isLast)
        throw cannotRead(shown(address), `the server does not answer: ${reasonOf(answer)}`, {
          cause: answer,
        });
    } else if (!PASSING.has(answer.status) || isLast) return checked(answer, address);
    await sleep(FIRST_WAIT_MS * 2 ** tries);
  }
}

async function reach({ address, range, maxBytes, http }: RangeRequest): Promise<Answer | Error> {
  const { url, authorization } = requestOf(address);
  const headers = { range, 'accept-encoding': 'identity', ...authorization };
  const { timeoutMs = REQUEST_TIMEOUT_MS, minBytesPerSecond = MIN_BYTES_PER_SECOND } = http;
  const limits = { timeoutMs, minBytesPerSecond, maxBytes };
  try {
    // The body of a server without ranges is the whole file, and that of an error is of no use.
    const isRange = (status: number) => status === 206;
    return await requestWithin((signal) => fetch(url, { headers, signal }), limits, isRange);
  } catch (error) {
    return error as Error;
  }
}

/** `fetch` refuses addresses with a password. */
function requestOf(address: string): { readonly url: URL; readonly authorization: Record<string, string> } {
  const url = new URL(address);
  const { username, password } = url;
  if (username === '' && password === '') return { url, authorization: {} };
  url.username = '';
  url.password = '';
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { url, authorization: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
}

function checked(answer: Answer, address: string): Answer {
  const { status } = answer;
  const name = shown(address);
  if (status === 206 || status === 416) return answer;
  if (status === 404 || status === 410) {
    throw notFound(`The server has no file ${name} (status ${status})`, 'Check the address.');
  }
  if (status === 200) {
    throw new AccError('ACC_DATA_RANGES', `The server of ${name} ignores ranges: it sends the whole file.`, {
      help: 'Use a server that knows range requests (most do), or download the files.',
      details: { file: name },
    });
  }
  throw cannotRead(name, `the server answers with status ${status}`);
}

function reasonOf(error: Error): string {
  return (error.cause as Error | undefined)?.message || error.message;
}
