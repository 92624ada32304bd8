import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { firstOfConnections, freePort, tryPort } from './ports.js';

it('gives ports outside of the range of outgoing connections, on which a program can listen', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, () => freePort('127.0.0.1')));
  for (const port of ports) {
    expect(port).toBeGreaterThanOrEqual(10_240);
    expect(port).toBeLessThan(30_000);
    expect(await tryPort(port, '127.0.0.1')).toBe(port);
  }
  expect(new Set(ports).size).toBeGreaterThan(10);
});

it('takes ports below 30,000 where the system has no file with its range', () => {
  expect(firstOfConnections('/no/such/file')).toBe(30_000);
});

it('finds a listener', async () => {
  const port = await freePort('127.0.0.1');
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  await expect(tryPort(port, '127.0.0.1')).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await expect(tryPort(port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  server.close();
});
