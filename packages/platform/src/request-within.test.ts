import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { LargeBodyError, requestWithin, SlowServerError } from './request-within.js';

async function withServer(
  answer: (response: ServerResponse) => void,
  use: (url: string) => Promise<void>,
): Promise<void> {
  let closed = 0;
  const server = createServer((_, response) => {
    response.on('close', () => closed++);
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    // The connection of a request that was given up is closed at once.
    await expect.poll(() => closed).toBe(1);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const limits = { timeoutMs: 100, minBytesPerSecond: 1000, maxBytes: 1000 };
const request = (url: string, changed = {}) =>
  requestWithin((signal) => fetch(url, { signal }), { ...limits, ...changed });

it('reads an answer', () =>
  withServer(
    (response) => response.end('hello'),
    async (url) => {
      const { status, bytes } = await request(url);
      expect([status, Buffer.from(bytes).toString()]).toEqual([200, 'hello']);
    },
  ));

it('gives up a server that says nothing', () =>
  withServer(
    () => {},
    async (url) => {
      const answer = request(url);
      await expect(answer).rejects.toThrow(SlowServerError);
      await expect(answer).rejects.toThrow('it sent nothing for 100 ms');
    },
  ));

it('gives up a server that drips', () =>
  withServer(
    (response) => {
      const timer = setInterval(() => response.write('x'), 10);
      response.on('close', () => clearInterval(timer));
    },
    async (url) => {
      await expect(request(url)).rejects.toThrow(/it sent \d+ bytes in 100 ms, and at least 100 were/);
    },
  ));

it('gives up a body that has no end', () =>
  withServer(
    (response) => {
      const fill = () => {
        while (response.write('x'.repeat(500)));
      };
      response.on('drain', fill);
      fill();
    },
    async (url) => {
      await expect(request(url)).rejects.toThrow(LargeBodyError);
    },
  ));

it('drops a body that is not wanted', () =>
  withServer(
    (response) => void response.writeHead(404).write('x'.repeat(5000)),
    async (url) => {
      const answer = await requestWithin(
        (signal) => fetch(url, { signal }),
        limits,
        (status) => status === 200,
      );
      expect([answer.status, answer.bytes.length]).toEqual([404, 0]);
    },
  ));

it('waits until what is sent can have arrived', async () => {
  const send = () => new Promise<Response>((resolve) => setTimeout(() => resolve(new Response('late')), 250));
  const answer = await requestWithin(send, { ...limits, sentBytes: 60_000 });
  expect(Buffer.from(answer.bytes).toString()).toBe('late');
});
