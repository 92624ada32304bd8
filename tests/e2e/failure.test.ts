import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, statSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

const acc = fileURLToPath(new URL('../../packages/cli/bin/acc.js', import.meta.url));
const script = fileURLToPath(new URL('./ranks/stuck.ts', import.meta.url));

async function launch(...args: string[]): Promise<{ code: number | null; output: string; ms: number }> {
  const start = Date.now();
  const child = spawn(process.execPath, [acc, 'launch', '-n', '3', script, ...args], { stdio: 'pipe' });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  child.stderr.on('data', (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output, ms: Date.now() - start };
}

describe('a rank that fails inside a step ends the job', () => {
  it.each([
    ['kill', 137, 'SIGKILL'],
    ['throw', 1, 'the culprit'],
    ['exit', 7, 'rank 1'],
  ])('%s: exit code %i', async (how, code, text) => {
    const result = await launch('1', how);
    expect(result.code, result.output).toBe(code);
    expect(result.output).toContain(text);
    expect(result.output).toMatch(/rank 1/);
    // This is not a timing test: a hang would last for the collective's five minutes.
    expect(result.ms).toBeLessThan(60_000);
  });
});

it('ranks that lose a peer get ACC_PEER_LOST', async () => {
  const results = await runRanks({ script, ranks: 2, args: ['1', 'kill'] });
  expect(results[1]!.signal).toBe('SIGKILL');
  expect(results[0]!.exitCode).toBe(1);
  expect(results[0]!.stderr).toContain('ACC_PEER_LOST');
});

it('a lost peer causes a flight record, which can be read as README describes', async () => {
  const [{ stderr } = expect.unreachable()] = await runRanks({ script, ranks: 2, args: ['1', 'kill'] });
  const [path] = /\S+acc-flight-\d+-\w+\.json/.exec(stderr) ?? expect.unreachable(stderr);
  expect(dirname(path)).toBe(tmpdir());
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const record = JSON.parse(readFileSync(path, 'utf8')) as { ranks: { calls?: object[] }[] };
  const call = {
    number: expect.any(Number) as unknown,
    call: expect.stringMatching(/^allReduce/) as unknown,
  };
  expect(record).toMatchObject({
    rank: 0,
    code: 'ACC_PEER_LOST',
    ranks: [{ rank: 0, isWaiting: true, host: hostname(), pid: expect.any(Number) as unknown }, { rank: 1 }],
  });
  expect(record.ranks[0]!.calls!.at(-1)).toMatchObject(call);

  const readme = readFileSync(new URL('../../packages/collective/README.md', import.meta.url), 'utf8');
  const [, program] = /^node -p "(.*acc-flight.*)"$/m.exec(readme) ?? expect.unreachable();
  const reading = program!.replace('acc-flight-….json', path);
  expect(execFileSync(process.execPath, ['-p', reading], { encoding: 'utf8' })).toMatch(
    /0,\s+true,\s+\{\s+number/,
  );
});

describe('a missing rank is an error after the time-out', () => {
  const late = new URL('./ranks/late.ts', import.meta.url);
  it.each([
    ['collective', 'ACC_COLLECTIVE_TIMEOUT'],
    ['join', 'ACC_RENDEZVOUS_FAILED'],
  ])('%s: %s', async (where, code) => {
    const [result] = await runRanks<string>({ script: late, ranks: 2, args: [where] });
    expect(result!.result, result!.stderr).toBe(code);
  });
});

it('a failed rendezvous can be repeated, and a group keeps its options', async () => {
  const again = new URL('./ranks/again.ts', import.meta.url);
  const folder = mkdtempSync(join(tmpdir(), 'acc-again-'));
  const ranks = await runRanks({ script: again, ranks: 3, args: [folder], env: { OMP_NUM_THREADS: '1' } });
  for (const { rank, exitCode, stderr, result } of ranks) {
    expect(exitCode, stderr).toBe(0);
    expect(result).toEqual({
      failed: rank === 2 ? 'not tried' : 'ACC_RENDEZVOUS_FAILED',
      sum: 6,
      refused: ['ACC_GROUP_JOINED', 'ACC_GROUP_JOINED'],
      again: [0, 1, 2],
    });
  }
});

describe('a job that cannot start reports the reason', () => {
  it('a taken port', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const [result] = await runRanks({
      script,
      ranks: 1,
      env: {
        RANK: '0',
        WORLD_SIZE: '2',
        LOCAL_WORLD_SIZE: '2',
        MASTER_ADDR: '127.0.0.1',
        MASTER_PORT: String(port),
      },
    });
    server.close();
    expect(result!.stderr).toContain('ACC_PORT_TAKEN');
    expect(result!.exitCode).toBe(1);
  });

  it('an incomplete environment', async () => {
    const [result] = await runRanks({ script, ranks: 1, env: { WORLD_SIZE: '2', RANK: undefined } });
    expect(result!.stderr).toContain('ACC_ENVIRONMENT');
  });

  it('a wrong libtorch', async () => {
    const [result] = await runRanks({ script, ranks: 1, env: { ACC_LIBTORCH: '/nowhere' } });
    expect(result!.stderr).toContain('ACC_LIBTORCH_INVALID');
  });
});
