import { mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { expectClose, seededRandom, TestNetwork } from '@acc/testkit';
import { ElasticJob, SAVING, type ElasticProgram, type RankPlace } from './elastic-job.js';
import { strikeAt, weightsIn, type StrikeKind } from './strikes.js';

const DDP: ElasticProgram = { kind: 'ddp' };
/** The memory holds one state of 4.1 MB, and not also a file of 2.6 MB. */
const WIDE: ElasticProgram = { kind: 'wide', memoryBytes: 5 * 2 ** 20 };

const STRIKES = inject('isRelease') ? 30 : 3;
const STEPS = 5;
/** Each strike waits for steps at most twice. */
const TOTAL = STEPS * (2 * STRIKES + 1);
const KINDS: readonly StrikeKind[] = ['rank', 'host', 'alone'];

it('goes on from the memory of the ranks that live, without a checkpoint', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-rescue-'));
  await using network = await TestNetwork.create({ hosts: 3 });
  const alone = await ElasticJob.alone(network, join(folder, 'alone'), TOTAL, DDP).ended;
  expect(alone.code, alone.output).toBe(0);
  const job = new ElasticJob(network, join(folder, 'job'), TOTAL, DDP);
  const random = seededRandom(11);
  let round = -1;
  for (let strike = 0; strike < STRIKES; strike++) {
    const kind = KINDS[strike] ?? KINDS[Math.floor(random() * KINDS.length)]!;
    const wanted = Math.ceil(random() * STEPS);
    const ranks = await job.advance({ after: round, size: 2, steps: STEPS, wanted });
    round = ranks[0]!.round;
    await strikeAt(job, ranks, { kind, round, random, alone: { steps: STEPS, wanted: () => 1 } });
  }
  await job.allJoined();
  job.permit(TOTAL);
  const ends = await Promise.all(job.agents.map(({ ended }) => ended));
  rmSync(folder, { recursive: true, force: true });
  for (const { code, output } of ends) expect(code, output).toBe(0);
  expect(weightsIn(job.output())).toEqual(weightsIn(alone.output));
  expect(job.output()).toMatch(/resumed at step \d+ from the memory of host\d/);
  requireNothingLost(job);
  expect(foldersOf(job)).toEqual([]);
}, 900_000);

const GROUPS = [
  { name: 'one group of shards that lives', kind: 'hybrid', window: 1 },
  { name: 'shards in files, in mid-window', kind: 'offload', window: 2 },
] as const;

it.each(GROUPS)('goes on from $name', async ({ kind, window }) => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-rescue-'));
  const program: ElasticProgram = { kind, ranks: 2 };
  await using network = await TestNetwork.create({ hosts: 2 });
  const steps = 3 * STEPS;
  const alone = await ElasticJob.alone(network, join(folder, 'alone'), steps, program).ended;
  expect(alone.code, alone.output).toBe(0);
  const job = new ElasticJob(network, join(folder, 'job'), steps, program);
  // With windows of two, the second window is open.
  const first = await job.advance({ after: -1, size: 4, steps: 3, wanted: 3 });
  // The other rank of that host lives, and both of the other host.
  process.kill(first.find(({ rank }) => rank === 3)!.pid, 'SIGKILL');
  const second = await job.advance({ after: first[0]!.round, size: 4, steps: STEPS, wanted: STEPS });
  // One host lives, with all shards.
  process.kill(-job.agents[1]!.child.pid!, 'SIGKILL');
  await job.agents[1]!.ended;
  await job.advance({ after: second[0]!.round, size: 2, steps: STEPS, wanted: 1 });
  job.permit(steps);
  const { code, output } = await job.agents[0]!.ended;
  rmSync(folder, { recursive: true, force: true });
  expect(code, output).toBe(0);
  expect(output.match(/resumed at step \d+ from the memory of host\d/g)?.length, output).toBe(2);
  requireNothingLost(job, window);
  const [values, expected] = [output, alone.output].map(
    (text) => JSON.parse(weightsIn(text)[0]!) as number[],
  );
  const rms = Math.sqrt(expected!.reduce((sum, each) => sum + each * each, 0) / expected!.length);
  // 4 and 2 ranks add the gradients of their rows in another order than one.
  expectClose(values!, expected!, { rtol: 1e-5, atol: 1e-5 * rms });
});

it('repeats a window that was open, with the same bits', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-rescue-'));
  await using network = await TestNetwork.create({ hosts: 1 });
  const windows: ElasticProgram = { kind: 'windows', ranks: 2 };
  const total = 2 * STEPS;
  const alone = await ElasticJob.alone(network, join(folder, 'alone'), total, windows).ended;
  expect(alone.code, alone.output).toBe(0);
  const job = new ElasticJob(network, join(folder, 'job'), total, windows);
  // In each epoch, the windows are of 2, 2 and 1 micro-batches.
  let round = -1;
  for (const wanted of [3, 5]) {
    const ranks = await job.advance({ after: round, size: 2, steps: wanted, wanted });
    round = ranks[0]!.round;
    killOne(ranks);
  }
  await job.advance({ after: round, size: 2, steps: STEPS, wanted: 1 });
  job.permit(total);
  const { code, output } = await job.agents[0]!.ended;
  rmSync(folder, { recursive: true, force: true });
  expect(code, output).toBe(0);
  // After 3 micro-batches the second window is open, and after 5 more that of the next epoch.
  expect(startsOf(job).map(({ at }) => at)).toEqual([0, 0, 2, 2, 7, 7]);
  expect(weightsIn(output)).toEqual(weightsIn(alone.output));
});

it('frees the memory that it has resumed from, and goes on from disk where there is not enough', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-rescue-'));
  await using network = await TestNetwork.create({ hosts: 2 });
  const job = new ElasticJob(network, join(folder, 'job'), 100, WIDE);
  let round = -1;
  const strike = async (steps: number, before = () => {}): Promise<void> => {
    const ranks = await job.advance({ after: round, size: 2, steps, wanted: steps });
    round = ranks[0]!.round;
    before();
    killOne(ranks);
  };
  await strike(2);
  await strike(2);
  await strike(4, () => fillMemory(job, 1));
  // Host 0 has kept the state, and host 1 cannot receive it.
  await strike(2, () => fillMemory(job, 0));
  await job.advance({ after: round, size: 2, steps: 2, wanted: 1 });
  const output = job.output();
  const told = output.split('\n').filter((line) => /^acc: .*(the last checkpoint|restart:)/.test(line));
  const lack = /^acc: ranks of (host\d) cannot keep their state for a restart/;
  // The first round may begin with one host, and then says that nothing was kept.
  expect(output).toMatch(/^acc: resumed at step [12] from the memory of host0; there is no checkpoint\.$/m);
  // A rank that has not asked for its next batch yet keeps the state of one step earlier.
  expect(told.filter((line) => !lack.test(line))).toEqual(
    [
      /resumed at step [34] from the memory of host0; the last checkpoint is of step 3\.$/,
      /state of step [78] in memory is not used: On rank 1: .* no space left .*; the last checkpoint is of step 6\.$/,
      /rank 0 does not keep .*: The state needs 4\.\d MB, but \S+ has only 0\.0 MB free\.$/,
      /no rank has kept its state; the last checkpoint is of step 9\.$/,
    ].map((line): unknown => expect.stringMatching(line)),
  );
  // Each start says early that the next one will have no state.
  expect(told.flatMap((line) => lack.exec(line)?.[1] ?? []).sort()).toEqual(['host0', 'host1', 'host1']);
  process.kill(job.agents[0]!.child.pid!, 'SIGINT');
  const ends = await Promise.all(job.agents.map(({ ended }) => ended));
  expect(ends[0]!.code, output).toBe(130);
  rmSync(folder, { recursive: true, force: true });
});

it('goes on from the checkpoint if nobody has kept the state, and leaves nothing after Ctrl-C', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-rescue-'));
  await using network = await TestNetwork.create({ hosts: 1 });
  const job = new ElasticJob(network, join(folder, 'job'), 100, SAVING);
  const first = await job.advance({ after: -1, size: 1, steps: 5, wanted: 4 });
  expect(foldersOf(job)).toHaveLength(1);
  process.kill(first[0]!.pid, 'SIGKILL');
  await job.advance({ after: 0, size: 1, steps: 5, wanted: 1 });
  expect(job.output()).toContain('no rank has kept its state; the last checkpoint is of step 3.');
  expect(job.output()).toMatch(/^at 3 round 1 /m);
  process.kill(job.agents[0]!.child.pid!, 'SIGINT');
  const { code, output } = await job.agents[0]!.ended;
  rmSync(folder, { recursive: true, force: true });
  expect(code, output).toBe(130);
  expect(foldersOf(job)).toEqual([]);
});

/** Leaves nothing of `/dev/shm` of a host. */
function fillMemory(job: ElasticJob, host: number): void {
  const folder = job.memoryOf(host);
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(join(folder, 'filling'), new Uint8Array(bavail * bsize));
}

/** Kills rank 1. */
function killOne(ranks: readonly RankPlace[]): void {
  process.kill(ranks.find(({ rank }) => rank === 1)!.pid, 'SIGKILL');
}

/** No window is taken in more than two rounds: what was complete is repeated once at most. */
function requireNothingLost(job: ElasticJob, window = 1): void {
  const rounds = new Map<number, Set<number>>();
  for (const { at, round } of job.reported()) rounds.set(at, (rounds.get(at) ?? new Set()).add(round));
  const often = [...rounds].filter(([, of]) => of.size > 2);
  expect(often, job.output()).toEqual([]);
  // Each start goes on where the one before it was, or one window before.
  for (const { at, round } of startsOf(job)) {
    const earlier = job.reported().filter((step) => step.round < round);
    const newest = Math.max(0, ...earlier.map((step) => step.at));
    expect(at, `round ${round}\n${job.output()}`).toBeGreaterThanOrEqual(newest - window);
  }
}

/** The micro-batches with which ranks began, in the order of rounds. */
function startsOf(job: ElasticJob): { readonly at: number; readonly round: number }[] {
  const lines = job.output().matchAll(/^at (\d+) round (\d+) /gm);
  const starts = Array.from(lines, ([, at, round]) => ({ at: Number(at), round: Number(round) }));
  return starts.sort((a, b) => a.round - b.round);
}

/** The folders in memory of the agents of a job, also of those that were killed. */
function foldersOf({ started }: ElasticJob): string[] {
  const pids = new Set(started.map(({ child }) => String(child.pid)));
  return readdirSync('/dev/shm').filter((name) => pids.has(/^acc-rescue-(\d+)-/.exec(name)?.[1] ?? ''));
}
