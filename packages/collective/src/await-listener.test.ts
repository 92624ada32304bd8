import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { awaitListener } from './await-listener.js';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

it('waits for a process that starts to listen later', async () => {
  const port = await freePort();
  const waiting = awaitListener('127.0.0.1', port, 10_000);
  const server = createServer();
  setTimeout(() => server.listen(port, '127.0.0.1'), 50);
  await waiting;
  expect(server.listening).toBe(true);
  server.close();
});

it.each([
  ['no process listens', '127.0.0.1'],
  ['the host has no address', 'no-such-host.invalid'],
])('fails if %s', async (_, host) => {
  await expect(awaitListener(host, await freePort(), 50)).rejects.toMatchObject({
    code: 'ACC_RENDEZVOUS_FAILED',
  });
});
