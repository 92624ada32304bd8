import type { AwsClient } from 'aws4fetch';
import type { AccError } from '@acc/contract';
import { storageErrorOf } from '../storage-errors.js';
import {
  LargeBodyError,
  MIN_BYTES_PER_SECOND,
  REQUEST_TIMEOUT_MS,
  requestWithin,
  SlowServerError,
  type FullAnswer,
} from '../request-within.js';
import { sleep } from '../timers.js';
import { importClients } from './clients.js';
import { elementIn, parseXml, textIn, type XmlElement } from './xml.js';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The session token of temporary credentials. */
  readonly sessionToken?: string;
}

export interface BucketOptions {
  readonly bucket: string;
  /** The prefix of all keys. */
  readonly prefix: string;
  readonly region: string;
  /** Undefined: Amazon's endpoint for the region. */
  readonly endpoint?: string | undefined;
  /** A function is called before each request. */
  readonly credentials: S3Credentials | (() => S3Credentials | Promise<S3Credentials>);
  /** The longest time without an answer, or in which less than `minBytesPerSecond` arrive. Default 30 s. */
  readonly timeoutMs?: number | undefined;
  /** Default 1024. */
  readonly minBytesPerSecond?: number | undefined;
}

export interface ListedObject {
  readonly key: string;
  readonly bytes: number;
}

interface RequestParts {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** The largest body of the answer. Default: none. */
  readonly maxBytes?: number;
}

/** The answer to a request, with its whole body. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
}

/**
 * The number of retries: for a request that the service could not serve, for one that did not
 * reach it, and for one that it answered too slowly.
 */
const RETRIES = { refused: 5, lost: 3, slow: 1 };
const FIRST_WAIT_MS = 100;
/** A page of a list has at most 1000 keys, of at most 1024 bytes each. */
const MAX_LIST_BYTES = 16 * 1024 * 1024;

const CODES: Readonly<Record<number, string>> = {
  401: 'ACC_STORAGE_DENIED',
  403: 'ACC_STORAGE_DENIED',
  404: 'ACC_STORAGE_NOT_FOUND',
  416: 'ACC_STORAGE_NOT_FOUND',
  507: 'ACC_STORAGE_FULL',
};

interface Reach {
  /** The request in words, for messages. */
  readonly doing: string;
  readonly maxBytes: number;
  readonly sentBytes: number | undefined;
}

/** Sends signed requests for keys of a bucket. */
export class Bucket {
  readonly location: string;
  readonly #options: BucketOptions;
  readonly #url: string;
  readonly #prefix: string;

  constructor(options: BucketOptions) {
    const { bucket, prefix, region, endpoint } = options;
    const name = prefix.replace(/^\/+|\/+$/g, '');
    this.#options = options;
    this.#prefix = name === '' ? '' : `${name}/`;
    // Other services understand the bucket name in the path. Amazon's expects it in the host name.
    this.#url = endpoint
      ? `${endpoint.replace(/\/+$/, '')}/${bucket}/`
      : `https://${bucket}.s3.${region}.amazonaws.com/`;
    this.location = `s3://${bucket}/${name}`.replace(/\/$/, '');
  }

  keyOf(name: string): string {
    return this.#prefix + name;
  }

  nameOf(key: string): string {
    return key.slice(this.#prefix.length);
  }

  /**
   * @param key Undefined: the request is for the bucket itself.
   * @param allowed Statuses besides success that the caller handles.
   */
  async request(
    method: string,
    key: string | undefined,
    { query = {}, headers = {}, body, maxBytes = Infinity }: RequestParts = {},
    allowed: readonly number[] = [],
  ): Promise<Answer> {
    const path = key === undefined ? '' : this.keyOf(key).split('/').map(encode).join('/');
    const pairs = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(value)}`);
    const url = `${this.#url}${path}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`;
    const doing = `${method} ${this.location}${key === undefined ? '' : `/${key}`}`;
    const init = { method, headers, ...(body !== undefined && { body }) } as RequestInit;
    const answer = await this.#reach(url, init, { doing, maxBytes, sentBytes: body?.length });
    if (answer.status < 300 || allowed.includes(answer.status)) return answer;
    throw await errorOf(answer, doing);
  }

  /** All objects whose keys begin with `prefix`, in the order of the service. */
  async list(prefix: string): Promise<ListedObject[]> {
    const found: ListedObject[] = [];
    let token: string | undefined;
    do {
      const query = {
        'list-type': '2',
        prefix: this.keyOf(prefix),
        ...(token !== undefined && { 'continuation-token': token }),
      };
      const { text } = await this.request('GET', undefined, { query, maxBytes: MAX_LIST_BYTES });
      const answer = await parseXml(text);
      if (!('ListBucketResult' in answer)) throw notUnderstood(`Listing ${this.location}/${prefix}`);
      const page = elementIn(answer, 'ListBucketResult');
      for (const object of (page['Contents'] ?? []) as XmlElement[]) {
        found.push({ key: this.nameOf(textIn(object, 'Key')!), bytes: Number(textIn(object, 'Size')) });
      }
      const next = textIn(page, 'IsTruncated') === 'true' ? textIn(page, 'NextContinuationToken') : undefined;
      if (next !== undefined && next === token) throw notUnderstood(`Listing ${this.location}/${prefix}`);
      token = next;
    } while (token !== undefined);
    return found;
  }

  async #reach(url: string, init: RequestInit, { doing, ...sizes }: Reach): Promise<Answer> {
    const client = await this.#client(doing);
    const { timeoutMs = REQUEST_TIMEOUT_MS, minBytesPerSecond = MIN_BYTES_PER_SECOND } = this.#options;
    const limits = { timeoutMs, minBytesPerSecond, ...sizes };
    for (let lost = 0; ; lost++) {
      try {
        return answerOf(await requestWithin((signal) => client.fetch(url, { ...init, signal }), limits));
      } catch (error) {
        const isLast = lost === (error instanceof SlowServerError ? RETRIES.slow : RETRIES.lost);
        if (isLast || error instanceof LargeBodyError) {
          throw unreachable(error as Error, doing, new URL(url).origin);
        }
        await sleep(FIRST_WAIT_MS * 2 ** lost);
      }
    }
  }

  async #client(doing: string): Promise<AwsClient> {
    const { credentials, region } = this.#options;
    const { aws } = await importClients();
    const given = typeof credentials === 'function' ? await credentials() : credentials;
    if (!areCredentials(given)) {
      const reason = 'the credentials function did not return an accessKeyId and a secretAccessKey';
      throw storageErrorOf('ACC_STORAGE_DENIED', doing, reason, undefined);
    }
    return new aws.AwsClient({ ...given, region, service: 's3', retries: RETRIES.refused });
  }
}

/** Percent-encodes by RFC 3986, as signatures require. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function unreachable(error: Error, doing: string, origin: string): AccError {
  const reason = (error.cause as Error | undefined)?.message || error.message;
  const what =
    error instanceof LargeBodyError ? `${origin}: ${reason}` : `${origin} does not answer: ${reason}`;
  return storageErrorOf('ACC_STORAGE_FAILED', doing, what, error);
}

function answerOf({ status, headers, bytes }: FullAnswer): Answer {
  return {
    status,
    headers,
    bytes,
    get text() {
      return new TextDecoder().decode(bytes);
    },
  };
}

/**
 * The error for an answer with a success status whose body is not that of S3, for example the page
 * of a proxy.
 */
export function notUnderstood(doing: string): AccError {
  return storageErrorOf('ACC_STORAGE_FAILED', doing, 'the answer is not a valid S3 answer', undefined);
}

async function errorOf({ status, text }: Answer, doing: string): Promise<AccError> {
  const error = elementIn(await parseXml(text), 'Error');
  const reason = textIn(error, 'Message') ?? `status ${status}`;
  const code = CODES[status] ?? 'ACC_STORAGE_FAILED';
  return storageErrorOf(code, doing, `${textIn(error, 'Code') ?? status}: ${reason}`, undefined);
}

export function areCredentials(value: unknown): boolean {
  if (typeof value === 'function') return true;
  const { accessKeyId, secretAccessKey } = (value ?? {}) as Partial<S3Credentials>;
  return isNamed(accessKeyId) && isNamed(secretAccessKey);
}

const isNamed = (value: unknown): boolean => typeof value === 'string' && value !== '';
