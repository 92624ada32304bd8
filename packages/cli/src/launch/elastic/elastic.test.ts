import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { freePort } from '@acc/platform/ports';
import { fixture, isRunning, startAcc, type AccRun } from '../../../fixtures/run-acc.js';

interface Place {
  readonly pid: number;
  readonly rank: number;
  readonly size: number;
  readonly node: number;
  /** How many rounds ended by a failure, and how many may. */
  readonly failed: number;
  readonly max: number;
}

interface Agent {
  readonly child: { kill(signal: NodeJS.Signals): boolean; readonly pid?: number };
  readonly ended: Promise<AccRun>;
}

let folder: string;
let port: number;
const agents: Agent[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'acc-elastic-'));
  port = await freePort('127.0.0.1');
});
afterEach(async () => {
  for (const { child } of agents) child.kill('SIGKILL');
  await Promise.all(agents.splice(0).map(({ ended }) => ended));
  rmSync(folder, { recursive: true });
});

/** Starts the agent of a host. All hosts are this one; the first agent keeps the job together. */
function agent(nnodes: string, args: readonly string[] = [], token = 'secret'): Agent {
  const place = [
    '--nnodes',
    nnodes,
    '--rdzv-endpoint',
    `127.0.0.1:${port}`,
    '--last-call',
    '0',
    '--no-prefix',
  ];
  const command = ['launch', ...place, ...args, fixture('elastic-rank.mjs'), folder];
  const started = startAcc(command, { env: { ACC_JOB_TOKEN: token } });
  agents.push(started);
  return started;
}

/** Waits for the ranks of a round. */
async function ranksOf(round: number, size: number): Promise<Place[]> {
  const paths = Array.from({ length: size }, (_, rank) => join(folder, `at-${round}-${rank}`));
  const read = (): Place[] | undefined => {
    if (!paths.every((path) => existsSync(path))) return undefined;
    const texts = paths.map((path) => readFileSync(path, 'utf8'));
    return texts.every(Boolean) ? texts.map((text) => JSON.parse(text) as Place) : undefined;
  };
  const ranks = await vi.waitUntil(read, { timeout: 240_000, interval: 20 });
  expect(ranks.map((rank) => rank.size)).toEqual(paths.map(() => size));
  return ranks;
}

/** Tells one rank, as `<round>-<rank>`, or `all` ranks to exit. */
function exit(which: string, code: number): void {
  writeFileSync(join(folder, 'next'), String(code));
  renameSync(join(folder, 'next'), join(folder, which));
}

describe('acc launch --nnodes A:B', () => {
  it('forms a new round when a host joins and when a rank fails, until the restarts are used up', async () => {
    const first = agent('1:2', ['--max-restarts', '1']);
    expect((await ranksOf(0, 1))[0]).toMatchObject({ failed: 0, max: 1, node: 0 });
    const second = agent('1:2', ['-n', '2']);
    const joined = await ranksOf(1, 3);
    expect(joined.map(({ node, failed }) => [node, failed])).toEqual([
      [0, 0],
      [1, 0],
      [1, 0],
    ]);
    // A rank that was asked to end and saved is no failure.
    exit('1-2', 75);
    expect((await ranksOf(2, 3))[0]).toMatchObject({ failed: 0 });
    exit('2-1', 7);
    expect((await ranksOf(3, 3))[0]).toMatchObject({ failed: 1 });
    exit('3-0', 9);
    const ends = await Promise.all([first.ended, second.ended]);
    for (const { code, stderr } of ends) {
      expect(code, stderr).toBe(9);
      expect(stderr).toContain('the job was restarted 1 times');
    }
  });

  it('goes on with the hosts that are there, and ends well on all hosts, also on those that wait', async () => {
    const first = agent('1:2', ['--max-restarts', '5']);
    await ranksOf(0, 1);
    const second = agent('1:2');
    const [, lost] = await ranksOf(1, 2);
    const third = agent('1:2');
    second.child.kill('SIGKILL');
    await second.ended;
    // Whether the third host waits already, or joins a moment later.
    const rounds = await Promise.any([ranksOf(2, 2), ranksOf(3, 2)]);
    expect(rounds[0]).toMatchObject({ failed: 1 });
    await vi.waitUntil(() => !isRunning(lost!.pid), { timeout: 240_000 });
    exit('all', 0);
    for (const { code, stderr } of await Promise.all([first.ended, third.ended]))
      expect(code, stderr).toBe(0);
  });

  it('ends the ranks of all hosts when the first host is lost', async () => {
    const first = agent('2:2', ['--max-restarts', '5']);
    const second = agent('2:2', ['--max-restarts', '5']);
    const ranks = await ranksOf(0, 2);
    // Either agent may have been the first to listen.
    const [keeper, other] =
      ranks[0]!.node === 0 && parentOf(ranks[0]!.pid) === first.child.pid ? [first, second] : [second, first];
    keeper.child.kill('SIGKILL');
    const { code, stderr } = await other.ended;
    expect(code, stderr).toBe(1);
    expect(stderr).toContain('ACC_RENDEZVOUS_LOST');
    await vi.waitUntil(() => ranks.every(({ pid }) => !isRunning(pid)), { timeout: 240_000 });
  });

  it('lets a host leave that is asked to end, and the others go on', async () => {
    const first = agent('1:2');
    await ranksOf(0, 1);
    const second = agent('1:2');
    await ranksOf(1, 2);
    second.child.kill('SIGTERM');
    expect((await second.ended).code).toBe(143);
    expect((await ranksOf(2, 1))[0]).toMatchObject({ failed: 0, max: 0 });
    first.child.kill('SIGTERM');
    expect((await first.ended).code).toBe(143);
  });

  it('goes on without a host that does not answer', async () => {
    const patience = ['--host-timeout', '4', '--max-restarts', '1'];
    const first = agent('1:2', patience);
    await ranksOf(0, 1);
    const second = agent('1:2', patience);
    await ranksOf(1, 2);
    second.child.kill('SIGSTOP');
    expect((await ranksOf(2, 1))[0]).toMatchObject({ failed: 1 });
    exit('all', 0);
    const { code, stderr } = await first.ended;
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/is lost: it has not answered for \d+ s/);
  });

  it('refuses another token, range or time, and strangers, and goes on', async () => {
    const first = agent('1:3');
    const [rank] = await ranksOf(0, 1);
    const stranger = connect(port, '127.0.0.1', () => stranger.write('GET / HTTP/1.1\r\n\r\n'));
    stranger.resume();
    await once(stranger, 'close');
    const late = agent('1:3', ['--host-timeout', '9']);
    const [wrong, other] = await Promise.all([agent('1:3', [], 'guess').ended, agent('1:2').ended]);
    expect((await late.ended).stderr).toMatch(/ACC_RENDEZVOUS_CONFLICT.*--host-timeout is 9 here and 10 on/);
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toContain('ACC_JOB_TOKEN');
    expect(other.stderr).toContain('ACC_RENDEZVOUS_CONFLICT');
    expect((await agent('1:3', [], '').ended).stderr).toContain('ACC_MISSING_OPTION');
    expect(isRunning(rank!.pid)).toBe(true);
    exit('all', 0);
    expect((await first.ended).code).toBe(0);
  });

  it('waits for the fewest hosts', async () => {
    const first = agent('2:3');
    let said = '';
    (first as ReturnType<typeof startAcc>).child.stderr!.on('data', (text: string) => (said += text));
    await vi.waitUntil(() => said.includes('1 of 2 to 3 hosts'), { timeout: 240_000, interval: 20 });
    expect(existsSync(join(folder, 'at-0-0'))).toBe(false);
    const second = agent('2:3');
    await ranksOf(0, 2);
    exit('all', 0);
    for (const { code, stderr } of await Promise.all([first.ended, second.ended]))
      expect(code, stderr).toBe(0);
  });
});

/** The id of the process that started another. */
function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}
