import { AccError, checkKeys } from '@acc/contract';
import { readClearmlEnvironment } from './environment.js';

export interface ClearmlOptions {
  /** The URL of the API server. Default: CLEARML_API_HOST, else https://api.clear.ml. */
  readonly url?: string;
  /**
   * The URL of the server of files. Default: CLEARML_FILES_HOST, else the one that belongs to `url`:
   * `files.` in place of `api.`, or the port 8081 in place of 8008.
   */
  readonly filesUrl?: string;
  /** Default: CLEARML_API_ACCESS_KEY. */
  readonly accessKey?: string;
  /** Default: CLEARML_API_SECRET_KEY. */
  readonly secretKey?: string;
  /** The project, which is created if it does not exist. Default: the project of `initTrackers`. */
  readonly project?: string;
}

export interface ResolvedOptions {
  /** Without a trailing slash. */
  readonly url: string;
  /** Without a trailing slash. Undefined if the server of files is not known. */
  readonly filesUrl: string | undefined;
  readonly authorization: string;
  readonly project: string | undefined;
}

const DEFAULT_URL = 'https://api.clear.ml';

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveOptions(options: ClearmlOptions): ResolvedOptions {
  checkKeys('clearml', options, ['url', 'filesUrl', 'accessKey', 'secretKey', 'project']);
  const given = { url: DEFAULT_URL, ...readClearmlEnvironment(), ...options };
  const url = serverUrl('url', given.url);
  const { accessKey, secretKey } = given;
  if (!accessKey || !secretKey) {
    throw new AccError(
      'ACC_INVALID_OPTION',
      `clearml: there is no ${accessKey ? 'secretKey' : 'accessKey'}.`,
      {
        help: "Create credentials in ClearML's settings. Set CLEARML_API_ACCESS_KEY and CLEARML_API_SECRET_KEY.",
      },
    );
  }
  const key = Buffer.from(`${accessKey}:${secretKey}`).toString('base64');
  return {
    url,
    filesUrl: given.filesUrl === undefined ? filesUrlFor(url) : serverUrl('filesUrl', given.filesUrl),
    authorization: `Basic ${key}`,
    project: given.project,
  };
}

function serverUrl(name: string, url: string): string {
  if (URL.canParse(url) && /^https?:/.test(url)) return url.replace(/\/+$/, '');
  throw new AccError('ACC_INVALID_OPTION', `clearml: ${name} is ${JSON.stringify(url)}.`, {
    help: `Give the URL of a ClearML server, for example ${DEFAULT_URL}.`,
  });
}

function filesUrlFor(url: string): string | undefined {
  const { port, protocol, host, hostname } = new URL(url);
  if (hostname.startsWith('api.')) return `${protocol}//files.${host.slice('api.'.length)}`;
  return port === '8008' ? `${protocol}//${hostname}:8081` : undefined;
}
