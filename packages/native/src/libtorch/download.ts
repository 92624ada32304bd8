import { AccError } from '@acc/contract';
import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ReadableStream } from 'node:stream/web';
import { asDiskError, requireFreeSpace } from './disk.js';

export interface DownloadOptions {
  /** Called as bytes arrive. `doneBytes` starts at the size of an earlier partial download. */
  readonly onBytes?: ((doneBytes: number, totalBytes: number | undefined) => void) | undefined;
  /** The time limit for the host to answer, in milliseconds. */
  readonly connectTimeoutMs?: number;
  /** The time limit for a pause of the host during the download, in milliseconds. */
  readonly stallTimeoutMs?: number;
}

/** The number of attempts after broken connections. */
const ATTEMPTS = 4;

/**
 * Downloads `url` to the file `path`, and continues a partial file. It does not verify the bytes.
 * The caller's checksum must show that the parts of a resumed download belong together.
 *
 * @throws AccError `ACC_DOWNLOAD_UNREACHABLE` (host, status or broken connection; the partial file
 * remains), `ACC_DISK_FULL`, `ACC_CACHE_NOT_WRITABLE`.
 */
export async function downloadFile(url: string, path: string, options: DownloadOptions = {}): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await fetchRest(url, path, options);
    } catch (error) {
      // A host that does not answer is not retried. A download that broke off is.
      if (error instanceof AccError || attempt === ATTEMPTS) throw unreachable(url, error);
    }
  }
}

async function fetchRest(url: string, path: string, options: DownloadOptions): Promise<void> {
  const { connectTimeoutMs = 5_000, stallTimeoutMs = 30_000, onBytes } = options;
  const have = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const watchdog = new Watchdog(connectTimeoutMs, 'no answer');
  try {
    const response = await request(url, have, watchdog);
    if (response.status === 416 && totalOf(response) === have) return;
    if (!response.ok || !response.body) throw unreachable(url, new Error(`HTTP ${response.status}`));
    const resumed = response.status === 206;
    const total = totalOf(response);
    let done = resumed ? have : 0;
    if (total !== undefined) await requireFreeSpace(dirname(path), total - done);
    const file = await open(path, resumed ? 'a' : 'w');
    try {
      watchdog.restart(stallTimeoutMs, 'the host stopped sending');
      for await (const chunk of response.body as ReadableStream<Uint8Array>) {
        await file.writeFile(chunk);
        done += chunk.length;
        watchdog.restart(stallTimeoutMs, 'the host stopped sending');
        onBytes?.(done, total);
      }
    } finally {
      await file.close();
    }
    if (total !== undefined && done < total) throw new Error(`only ${done} of ${total} bytes came`);
  } catch (error) {
    throw error instanceof AccError ? error : asDiskError(watchdog.expired ?? error, path);
  } finally {
    watchdog.stop();
  }
}

/** Sends the request and waits for the headers of the answer. */
async function request(url: string, have: number, watchdog: Watchdog): Promise<Response> {
  try {
    return await fetch(url, {
      signal: watchdog.signal,
      headers: { 'accept-encoding': 'identity', ...(have > 0 && { range: `bytes=${have}-` }) },
    });
  } catch (error) {
    throw unreachable(url, watchdog.expired ?? error);
  }
}

/** Aborts `signal` unless it is restarted in time. */
class Watchdog {
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  expired: Error | undefined;

  constructor(timeoutMs: number, what: string) {
    this.restart(timeoutMs, what);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(timeoutMs: number, what: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.expired = new Error(`${what} for ${timeoutMs / 1000} s`);
      this.#controller.abort(this.expired);
    }, timeoutMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** The size of the whole file. A resumed answer states it as `Content-Range: bytes 5-9/10`. */
function totalOf(response: Response): number | undefined {
  const range = response.headers.get('content-range');
  const text = range ? range.split('/').at(-1) : response.headers.get('content-length');
  return text && /^\d+$/.test(text) ? Number(text) : undefined;
}

function unreachable(url: string, error: unknown): AccError {
  if (error instanceof AccError) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : (error as Error);
  return new AccError('ACC_DOWNLOAD_UNREACHABLE', `${url}: ${cause.message}`, {
    help: 'Check the network, set ACC_LIBTORCH_URL to a mirror, or give a file: npx acc setup --from <file>',
    cause: error,
    details: { url },
  });
}
