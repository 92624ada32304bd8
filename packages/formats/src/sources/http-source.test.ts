import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { openSource } from './open-source.js';

interface Asked {
  readonly address: string;
  /** The ranges of the requests. */
  readonly ranges: string[];
}

/** A server whose first answer tells a size of 100 bytes. */
async function withServer(
  answer: (response: ServerResponse, request: IncomingMessage) => void,
  use: (asked: Asked) => Promise<void>,
): Promise<void> {
  const ranges: string[] = [];
  const server = createServer((request, response) => {
    ranges.push(request.headers.range!);
    if (ranges.length > 1) return answer(response, request);
    response.writeHead(206, { 'content-range': 'bytes 0-0/100' }).end('x');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use({ address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.jsonl`, ranges });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const http = { timeoutMs: 50, minBytesPerSecond: 1000 };
const cannotRead = (address: string, reason: RegExp): Error =>
  expect.objectContaining({
    code: 'ACC_DATA_READ',
    message: expect.stringMatching(reason) as string,
    details: { file: address },
  }) as Error;

it('asks a silent server twice', () =>
  withServer(
    () => {},
    async ({ address, ranges }) => {
      const source = await openSource(address, { http });
      await expect(source.read(0, 50)).rejects.toThrow(cannotRead(address, /sent nothing for 50 ms/));
      expect(ranges).toEqual(['bytes=0-0', 'bytes=0-49', 'bytes=0-49']);
    },
  ));

it('reads no more than it asked for', () =>
  withServer(
    (response) => {
      response.writeHead(206, { 'content-range': 'bytes 0-49/100' });
      const fill = () => {
        while (response.write('x'.repeat(10_000)));
      };
      response.on('drain', fill);
      fill();
    },
    async ({ address, ranges }) => {
      const source = await openSource(address, { http });
      await expect(source.read(0, 50)).rejects.toThrow(cannotRead(address, /more than the 50 bytes/));
      expect(ranges).toHaveLength(2);
    },
  ));

it('refuses a size that is no number of bytes', async () => {
  const server = createServer((_, response) =>
    response.writeHead(206, { 'content-range': `bytes 0-0/${'9'.repeat(30)}` }).end('x'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`;
  await expect(openSource(address, { http })).rejects.toThrow(cannotRead(address, /does not tell the size/));
  server.closeAllConnections();
  server.close();
});
