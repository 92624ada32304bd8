import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { freePort } from '@acc/testkit';
import { awaitListener } from './await-listener.js';

it('waits for a process that starts to listen later', async () => {
  const port = await freePort('127.0.0.1');
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
  await expect(awaitListener(host, await freePort('127.0.0.1'), 50)).rejects.toMatchObject({
    code: 'ACC_RENDEZVOUS_FAILED',
  });
});
