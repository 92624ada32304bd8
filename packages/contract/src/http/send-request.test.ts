import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { sendRequest } from './send-request.js';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/path?token=secret`;
}

it('returns the whole answer', async () => {
  const url = await serve((request, response) => {
    request.on('data', () => undefined).on('end', () => response.end(`${request.method} ok`));
  });
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(100_000));
      controller.close();
    },
  });
  expect(await sendRequest(url, { method: 'PUT', body })).toMatchObject({ status: 200, body: 'PUT ok' });
});

it('names a header that HTTP does not allow, without its value', async () => {
  const url = await serve((_request, response) => void response.end());
  const failure = sendRequest(url, { headers: { authorization: 'Bearer geheim…' } });
  await expect(failure).rejects.toMatchObject({
    code: 'ACC_INVALID_OPTION',
    message: expect.stringMatching(/^(?!.*geheim).*authorization/),
  });
});

it.each([
  [503, 'ACC_TRACKER_UNAVAILABLE'],
  [429, 'ACC_TRACKER_UNAVAILABLE'],
  [400, 'ACC_TRACKER_REFUSED'],
  [401, 'ACC_TRACKER_REFUSED'],
])('status %i gives %s', async (status, code) => {
  const url = await serve((_request, response) => {
    response.writeHead(status, { 'retry-after': '3' }).end('why');
  });
  const error = await sendRequest(url).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code, details: { status, body: 'why', retryAfterMs: 3000 } });
  expect((error as Error).message).not.toContain('secret');
});

it('marks a missing server and a broken connection as retryable', async () => {
  const gone = await serve(() => undefined);
  server!.close();
  await expect(sendRequest(gone)).rejects.toMatchObject({ code: 'ACC_TRACKER_UNAVAILABLE' });
  const cutting = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('half');
    setTimeout(() => response.destroy(), 20);
  });
  await expect(sendRequest(cutting)).rejects.toMatchObject({ code: 'ACC_TRACKER_UNAVAILABLE' });
});

it('stops when its signal is aborted', async () => {
  const url = await serve(() => undefined);
  const error = await sendRequest(url, { signal: AbortSignal.timeout(50) }).catch(
    (caught: unknown) => caught,
  );
  expect(error).toMatchObject({ code: 'ACC_TRACKER_UNAVAILABLE' });
});

it.each(['127.0.0.1:5000', 'file:///x', ''])('refuses %s, which is not an HTTP URL', async (url) => {
  await expect(sendRequest(url)).rejects.toMatchObject({ code: 'ACC_INVALID_OPTION' });
});

it('refuses a URL with a password, and does not show it', async () => {
  const error = await sendRequest('http://me:geheim@127.0.0.1:1/').catch((caught: unknown) => caught);
  expect(error).toMatchObject({
    code: 'ACC_INVALID_OPTION',
    message: expect.stringContaining('127.0.0.1:1'),
  });
  expect(String((error as Error).stack)).not.toContain('geheim');
});
