import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { expectClose, seededRandom, TestNetwork } from '@acc/testkit';
import { ElasticJob, SAVING, type ElasticProgram } from './elastic-job.js';
import { strikeAt, weightsIn, type StrikeKind } from './strikes.js';

const DDP: ElasticProgram = { script: 'rescue.ts', first: () => 'ddp' };
const HYBRID: ElasticProgram = { script: 'rescue.ts', first: () => 'hybrid', ranks: 2 };

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

it('goes on from one group of shards that lives', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-rescue-'));
  await using network = await TestNetwork.create({ hosts: 2 });
  const steps = 3 * STEPS;
  const alone = await ElasticJob.alone(network, join(folder, 'alone'), steps, HYBRID).ended;
  expect(alone.code, alone.output).toBe(0);
  const job = new ElasticJob(network, join(folder, 'job'), steps, HYBRID);
  const first = await job.advance({ after: -1, size: 4, steps: STEPS, wanted: STEPS });
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
  requireNothingLost(job);
  const [values, expected] = [output, alone.output].map(
    (text) => JSON.parse(weightsIn(text)[0]!) as number[],
  );
  const rms = Math.sqrt(expected!.reduce((sum, each) => sum + each * each, 0) / expected!.length);
  // 4 and 2 ranks add the gradients of their rows in another order than one.
  expectClose(values!, expected!, { rtol: 1e-5, atol: 1e-5 * rms });
}, 300_000);

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
}, 300_000);

/** No step is taken in more than two rounds: what was complete is repeated once at most. */
function requireNothingLost(job: ElasticJob): void {
  const rounds = new Map<number, Set<number>>();
  for (const { at, round } of job.reported()) rounds.set(at, (rounds.get(at) ?? new Set()).add(round));
  const often = [...rounds].filter(([, of]) => of.size > 2);
  expect(often, job.output()).toEqual([]);
  // Each start goes on where the one before it was, or one step before.
  const starts = [...job.output().matchAll(/^at (\d+) round (\d+) /gm)];
  for (const [line, at, round] of starts) {
    const earlier = job.reported().filter((step) => step.round < Number(round));
    const newest = Math.max(0, ...earlier.map((step) => step.at));
    expect(Number(at), `${line}\n${job.output()}`).toBeGreaterThanOrEqual(newest - 1);
  }
}

/** What the agents of a job, also those that were killed, have in memory. */
function foldersOf({ started }: ElasticJob): string[] {
  const pids = new Set(started.map(({ child }) => String(child.pid)));
  return readdirSync('/dev/shm').filter((name) => pids.has(/^acc-rescue-(\d+)-/.exec(name)?.[1] ?? ''));
}
