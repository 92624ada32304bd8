import { cpSync, mkdtempSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunSet } from '../runs/run-set.js';
import { MonitorServer } from './server.js';
import { pageFiles } from './shell.js';

const recorded = fileURLToPath(
  new URL('../../../../records/src/testing/runs/rank-1-computes-twice-as-much', import.meta.url),
);

let server: MonitorServer;
let cookie: string;
beforeAll(async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'acc-monitor-')), 'insight');
  cpSync(recorded, folder, { recursive: true });
  server = await MonitorServer.start(new RunSet([folder]), 0);
  const { headers } = await ask('/api/session', { method: 'POST', body: tokenOf(server) });
  cookie = headers['set-cookie']![0]!;
});
afterAll(() => server.close());

const tokenOf = ({ url }: MonitorServer) => new URL(url).hash.slice(1);

interface Asked {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

async function ask(path: string, { method = 'GET', body = '', headers = {} }: Asked = {}) {
  const length = body === '' ? {} : { 'content-length': String(body.length) };
  const options = { host: '127.0.0.1', port: server.port, path, method, headers: { ...length, ...headers } };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(options, resolve).on('error', reject).end(body);
  });
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

const withCookie = (headers = {}) => ({ headers: { cookie: cookie.split(';')[0]!, ...headers } });

describe('the server of the page', () => {
  it('answers with the cookie, under every name and port of this machine', async () => {
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; Path=\/$/);
    for (const host of ['localhost:9', '127.0.0.1', '[::1]:7007']) {
      const of = { host, origin: `http://${host}` };
      const session = await ask('/api/session', { method: 'POST', body: tokenOf(server), headers: of });
      const [own] = session.headers['set-cookie']!;
      // Two tunnels of ssh have cookies of their own.
      expect(own).toContain(`acc_monitor_${/:(\d+)$/.exec(host)?.[1] ?? 80}=`);
      const headers = { ...of, cookie: own!.split(';')[0]! };
      expect(await ask('/api/runs', { headers })).toMatchObject({ status: 200 });
    }
  });

  it.each([
    ['the name of another machine', { host: 'attacker.example:7007' }],
    ['a name that only begins like ours', { host: 'localhost.attacker.example' }],
    ['a page of another site', { origin: 'http://attacker.example' }],
    ['another port of this machine', { origin: 'http://127.0.0.1:1' }],
    ['a page without an origin', { origin: 'null' }],
  ])('refuses %s', async (_, headers) => {
    for (const path of ['/', '/api/runs', '/api/events']) {
      const { status, body } = await ask(path, withCookie(headers));
      expect([status, JSON.parse(body)]).toMatchObject([403, { code: 'ACC_MONITOR_REFUSED' }]);
    }
  });

  it('refuses figures without the token, with a wrong one, and one that is too long', async () => {
    for (const path of ['/api/runs', '/api/run?id=r0', '/api/curves', '/api/events']) {
      const answer = await ask(path);
      expect([answer.status, JSON.parse(answer.body)]).toMatchObject([401, { code: 'ACC_MONITOR_REFUSED' }]);
      expect(await ask(path, { headers: { cookie: `acc_monitor_${server.port}=x` } })).toMatchObject({
        status: 401,
      });
    }
    for (const body of ['', 'x', tokenOf(server).slice(1), 'x'.repeat(1000)])
      expect(await ask('/api/session', { method: 'POST', body })).toMatchObject({ status: 401 });
  });

  it.each(['POST', 'PUT', 'DELETE'])('changes nothing: %s', async (method) => {
    expect(await ask('/api/runs', { method, ...withCookie() })).toMatchObject({ status: 405 });
  });

  it.each([
    ['/api/curves?runs=r0&axis=step&width=0', 400],
    ['/api/curves?runs=r0&axis=loss&width=100', 400],
    ['/api/curves?runs=r0&axis=step&width=100&from=5&to=5', 400],
    ['/api/curves?runs=r0&axis=step&width=100&from=-1e308&to=1e308', 400],
    ['/api/curves?runs=r9&axis=step&width=100', 404],
    ['/api/run?id=../r0', 404],
    ['/api/window?run=r0&id=1&width=100', 404],
    ['/api/trace?run=r0&id=../1', 404],
    ['/api/image?run=r0&file=../facts-rank-0.jsonl', 404],
    ['/../package.json', 404],
  ])('%s: %i', async (path, status) => {
    expect(await ask(path, withCookie())).toMatchObject({ status });
  });

  it('asks no job that it is not attached to, and nobody but its page may ask', async () => {
    const given = { method: 'POST', body: '{"run":"r0","ask":"stacks"}' };
    const own = withCookie({ origin: `http://127.0.0.1:${server.port}`, host: `127.0.0.1:${server.port}` });
    expect(await ask('/api/ask', { ...given, ...own })).toMatchObject({ status: 404 });
    expect(await ask('/api/ask', { ...given, ...withCookie() })).toMatchObject({ status: 403 });
    expect(await ask('/api/ask', { ...given, headers: { ...own.headers, cookie: '' } })).toMatchObject({
      status: 401,
    });
  });

  it('allows the page nothing but its own files', async () => {
    const { headers } = await ask('/');
    expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
  });
});

it('the page has at most 150 kB, compressed, and the licence of what it contains', () => {
  const bodies = Object.values(pageFiles()).map(({ body }) => Buffer.from(body));
  const bytes = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0);
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThanOrEqual(150_000);
  expect(bodies.filter((body) => body.includes('Permission is hereby granted'))).toHaveLength(2);
});
