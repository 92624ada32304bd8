import { AccError, isAccError } from '@acc/contract';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { asDiskError } from './disk.js';
import { downloadFile } from './download.js';
import { downloadIn, downloadWheelByPip } from './pip.js';
import type { Platform } from './platform.js';
import { OFFICIAL_HOST, fileNameOf, officialUrl, publishedSha256 } from './sources.js';
import { claimPartialFile } from './staging.js';

/** Progress that {@link installLibtorch} reports. */
export type InstallProgress =
  | { readonly phase: 'fetch'; readonly source: string }
  | { readonly phase: 'download'; readonly doneBytes: number; readonly totalBytes: number | undefined }
  | { readonly phase: 'unpack'; readonly doneBytes: number; readonly totalBytes: number }
  /**
   * Information for the user, for example that another source is used, or that a file is not a
   * published one.
   */
  | { readonly phase: 'note'; readonly message: string };

/** A file on this machine that should contain a libtorch. */
export interface FetchedFile {
  readonly path: string;
  /** The file name at the source. */
  readonly fileName: string;
  readonly source: string;
  /** Whether it is a download of this process, as opposed to a file of the user. */
  readonly temporary: boolean;
  /**
   * Whether it joins a partial download of an earlier process with a new part, which may not belong
   * together.
   */
  readonly resumed?: boolean;
}

/** A source to fetch from. */
export interface Source {
  readonly name: string;
  fetch(): Promise<FetchedFile>;
}

export interface SourceRequest {
  readonly platform: Platform;
  readonly version: string;
  readonly from: string | undefined;
  readonly offline: boolean;
  readonly sha256: string | undefined;
  readonly libtorchUrl: string | undefined;
  /** The folder for partial downloads. */
  readonly downloadDir: string;
  /** The staging folder of this process. */
  readonly stagingDir: string;
  readonly onProgress: (progress: InstallProgress) => void;
}

/**
 * The sources to try, in order. If the user names a source (`from`, `ACC_LIBTORCH_URL`, a
 * checksum), it is the only one, because any other would be unexpected.
 */
export function planSources(request: SourceRequest): Source[] {
  const { platform, version, from, offline, sha256, libtorchUrl } = request;
  if (from !== undefined) return [isUrl(from) ? urlSource(from, request) : fileSource(from)];
  if (offline) return [pipSource(request)];
  if (libtorchUrl !== undefined) {
    const isFile = /\.(zip|whl)$/.test(fileNameOf(checkedUrl(libtorchUrl)));
    return [urlSource(isFile ? libtorchUrl : officialUrl(platform, version, libtorchUrl), request)];
  }
  const official = officialUrl(platform, version);
  if (sha256 !== undefined) return [urlSource(official, request)];
  // An official archive without a known checksum could not be verified. A wheel contains its own
  // checksums.
  const published = publishedSha256(fileNameOf(official)) !== undefined;
  return [...(published ? [urlSource(official, request)] : []), pipSource(request)];
}

/**
 * Fetches from the first source that can be reached, and passes the file to `use`. Only an
 * unreachable source is skipped, with a note. A wrong file is an error.
 *
 * @throws AccError `ACC_DOWNLOAD_UNREACHABLE` with every source, and the errors of `use`.
 */
export async function fetchFromFirst<T>(
  sources: readonly Source[],
  onProgress: (progress: InstallProgress) => void,
  use: (file: FetchedFile) => Promise<T>,
): Promise<T> {
  const failures: string[] = [];
  for (const source of sources) {
    onProgress({ phase: 'fetch', source: source.name });
    let file: FetchedFile;
    try {
      file = await source.fetch();
    } catch (error) {
      if (!isAccError(error, 'ACC_DOWNLOAD_UNREACHABLE')) throw error;
      if (sources.length === 1) throw error;
      failures.push(error.message.split('\n→')[0]!);
      onProgress({ phase: 'note', message: failures.at(-1)! });
      continue;
    }
    try {
      return await use(file);
    } catch (error) {
      const joined = file.resumed && isAccError(error) && !/DISK|CACHE/.test(error.code);
      if (!joined) throw error;
      onProgress({ phase: 'note', message: 'the resumed download is damaged; fetching it again' });
      return use(await source.fetch());
    }
  }
  throw new AccError(
    'ACC_DOWNLOAD_UNREACHABLE',
    `libtorch could not be fetched.\n  ${failures.join('\n  ')}`,
    {
      help: 'Check the network, set ACC_LIBTORCH_URL to a mirror, or give a file: npx acc setup --from <file>',
      details: { failures },
    },
  );
}

function urlSource(url: string, { offline, downloadDir, onProgress }: SourceRequest): Source {
  const fileName = fileNameOf(checkedUrl(url));
  return {
    name: url,
    async fetch() {
      if (offline) {
        throw new AccError(
          'ACC_DOWNLOAD_UNREACHABLE',
          `${url} cannot be fetched together with the option offline.`,
          {
            help: 'Remove the option offline, or give a file on this machine.',
          },
        );
      }
      const path = claimPartialFile(downloadDir, fileName);
      const resumed = existsSync(path);
      const onBytes = (doneBytes: number, totalBytes: number | undefined) =>
        onProgress({ phase: 'download', doneBytes, totalBytes });
      await downloadFile(url, path, { onBytes });
      return { path, fileName, source: url, temporary: true, resumed };
    },
  };
}

function pipSource({ platform, version, offline, stagingDir, onProgress }: SourceRequest): Source {
  return {
    name: `pip's index, torch ${version}${offline ? ' (offline)' : ''}`,
    async fetch() {
      const folder = join(stagingDir, 'pip');
      try {
        mkdirSync(folder, { recursive: true });
      } catch (error) {
        throw asDiskError(error, folder);
      }
      const onOutput = (text: string): void => {
        const file = downloadIn(text);
        if (file) onProgress({ phase: 'fetch', source: `pip's index: ${file}` });
      };
      const path = await downloadWheelByPip(folder, { platform, version, offline, onOutput });
      return { path, fileName: basename(path), source: 'pip', temporary: true };
    },
  };
}

function fileSource(path: string): Source {
  return {
    name: path,
    fetch() {
      if (statSync(path, { throwIfNoEntry: false })?.isFile()) {
        return Promise.resolve({ path, fileName: basename(path), source: path, temporary: false });
      }
      return Promise.reject(
        new AccError('ACC_LIBTORCH_INVALID', `The file ${path} does not exist.`, {
          help: 'Give a .zip or .whl file or its URL. For an unpacked libtorch, set ACC_LIBTORCH=<folder>.',
          details: { path },
        }),
      );
    },
  };
}

function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

function checkedUrl(text: string): string {
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return text;
  throw new AccError('ACC_LIBTORCH_INVALID', `'${text}' is not an http(s) URL.`, {
    help: `Give a URL such as ${OFFICIAL_HOST}/…/libtorch.zip`,
    details: { url: text },
  });
}
