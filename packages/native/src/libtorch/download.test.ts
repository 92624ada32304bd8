import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { downloadFile } from './download.js';
import { temporaryFolder } from './test-support.js';

const CONTENT = Buffer.from(Array.from({ length: 100_000 }, (_, i) => i % 251));

/** A file server on loopback; `answer` handles each request, numbered from 0. */
async function serve(answer: (request: IncomingMessage, response: ServerResponse, index: number) => void) {
  const ranges: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    ranges.push(request.headers.range);
    answer(request, response, ranges.length - 1);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file.zip`;
  return { url, ranges, [Symbol.dispose]: () => void (server.closeAllConnections(), server.close()) };
}

/** Sends what was asked for; with `cutAfter`, breaks the connection after so many bytes. */
function sendRange(request: IncomingMessage, response: ServerResponse, cutAfter?: number): void {
  const start = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
  if (start >= CONTENT.length) {
    response.writeHead(416, { 'content-range': `bytes */${CONTENT.length}` }).end();
    return;
  }
  response.writeHead(request.headers.range ? 206 : 200, {
    'content-length': CONTENT.length - start,
    ...(request.headers.range && {
      'content-range': `bytes ${start}-${CONTENT.length - 1}/${CONTENT.length}`,
    }),
  });
  if (cutAfter === undefined) response.end(CONTENT.subarray(start));
  else
    response.write(CONTENT.subarray(start, start + cutAfter), () => setTimeout(() => response.destroy(), 20));
}

describe('downloadFile', () => {
  it('resumes after broken connections, and reports all bytes', async () => {
    using folder = temporaryFolder();
    using server = await serve((request, response, index) =>
      sendRange(request, response, index < 2 ? 30_000 : undefined),
    );
    const path = join(folder.path, 'file');
    let last: [number, number | undefined] | undefined;
    await downloadFile(server.url, path, { onBytes: (done, total) => (last = [done, total]) });
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
    expect(server.ranges).toHaveLength(3);
    expect(last).toEqual([CONTENT.length, CONTENT.length]);
  });

  it('resumes a download of an earlier process, whether partial or complete', async () => {
    using folder = temporaryFolder();
    using server = await serve((request, response) => sendRange(request, response));
    const path = join(folder.path, 'file');
    writeFileSync(path, CONTENT.subarray(0, 99_000));
    await downloadFile(server.url, path);
    await downloadFile(server.url, path);
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
    expect(server.ranges).toEqual(['bytes=99000-', 'bytes=100000-']);
  });

  it('starts again if the host does not support ranges', async () => {
    using folder = temporaryFolder();
    using server = await serve((_, response) => response.end(CONTENT));
    const path = join(folder.path, 'file');
    writeFileSync(path, 'something else');
    await downloadFile(server.url, path);
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
  });

  it('gives ACC_DOWNLOAD_UNREACHABLE for a missing host, a missing file, silence and repeated disconnects', async () => {
    using folder = temporaryFolder();
    using missing = await serve((_, response) => response.writeHead(404).end());
    using silent = await serve(() => undefined);
    using stalling = await serve(
      (_, response) => void response.writeHead(200, { 'content-length': 9 }).write('x'),
    );
    const unreachable = { code: 'ACC_DOWNLOAD_UNREACHABLE' };
    const path = join(folder.path, 'file');
    const options = { connectTimeoutMs: 200, stallTimeoutMs: 200 };
    await expect(downloadFile('http://127.0.0.1:1/x.zip', path)).rejects.toMatchObject(unreachable);
    await expect(downloadFile(missing.url, path)).rejects.toMatchObject(unreachable);
    await expect(downloadFile(silent.url, path, options)).rejects.toMatchObject(unreachable);
    await expect(downloadFile(stalling.url, path, options)).rejects.toMatchObject(unreachable);
  });

  it('refuses a file for which the disk has no space before it is fetched', async () => {
    using folder = temporaryFolder();
    using server = await serve(
      (_, response) => void response.writeHead(200, { 'content-length': 2 ** 50 }).write('x'),
    );
    await expect(downloadFile(server.url, join(folder.path, 'file'))).rejects.toMatchObject({
      code: 'ACC_DISK_FULL',
    });
  });
});
