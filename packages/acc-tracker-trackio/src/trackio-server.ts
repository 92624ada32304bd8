import { AccError, checkKeys, sendRequest } from '@acc/contract';
import { readTrackioEnvironment } from './environment.js';

export interface TrackioOptions {
  /**
   * The URL of the server. It may be the address with the write token that Trackio prints. Default:
   * TRACKIO_SERVER_URL.
   */
  readonly url?: string;
  /** Default: the url's `write_token`, else TRACKIO_WRITE_TOKEN. */
  readonly writeToken?: string;
}

/** The client of the part of a Trackio server's API that stores data. */
export class TrackioServer {
  readonly #url: URL;
  readonly #token: string;

  constructor(options: TrackioOptions) {
    checkKeys('trackio', options, ['url', 'writeToken']);
    const { url, writeToken } = { ...readTrackioEnvironment(), ...options };
    if (url === undefined || !URL.canParse(url) || !/^https?:/.test(url)) {
      throw new AccError('ACC_INVALID_OPTION', `trackio: url is ${JSON.stringify(url)}.`, {
        help: 'Give the URL of a Trackio server, for example http://127.0.0.1:7860, or set TRACKIO_SERVER_URL.',
      });
    }
    this.#url = new URL(url);
    const token = writeToken ?? this.#url.searchParams.get('write_token');
    if (token === null) {
      throw new AccError('ACC_INVALID_OPTION', 'trackio: there is no writeToken.', {
        help: 'Use the token in the address that Trackio prints, or set TRACKIO_WRITE_TOKEN.',
      });
    }
    this.#token = token;
  }

  async post(name: string, body: object, signal?: AbortSignal): Promise<void> {
    await sendRequest(new URL(`/api/${name}`, this.#url), {
      method: 'POST',
      body: JSON.stringify({ ...body, hf_token: null }, textForNumber),
      headers: { 'content-type': 'application/json', 'x-trackio-write-token': this.#token },
      signal,
    });
  }
}

/** Replaces NaN and infinities by the strings that Trackio uses in JSON. */
function textForNumber(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}
