import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, it } from 'vitest';
import { seededRandom, TestNetwork, type TestHost } from '@acc/testkit';
import { ElasticJob } from './elastic-job.js';
import { launch, written, type Running } from './run-on-hosts.js';
import { secondHost, strikeAt, weightsIn, type StrikeKind } from './strikes.js';

const saveOnJoin = fileURLToPath(new URL('./ranks/save-on-join.ts', import.meta.url));

const STRIKES = inject('isRelease') ? 50 : 6;
/** The number of steps that the job may take until the next strike. */
const STEPS = 8;
/** Each strike waits for steps at most twice, and the job takes some after the last one. */
const TOTAL = STEPS * (2 * STRIKES + 1);
type Kind = StrikeKind | 'cut';
const FIRST: readonly Kind[] = ['rank', 'host', 'alone'];
/** A host that is cut off is noticed after ten seconds, so a short run has none. */
const KINDS: readonly Kind[] = inject('isRelease') ? [...FIRST, 'rank', 'host', 'alone', 'cut'] : FIRST;

it('ends with the weights of an undisturbed run, whatever ranks and hosts are killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-elastic-'));
  await using network = await TestNetwork.create({ hosts: 3 });
  const expected = await undisturbed(network, folder);
  const job = new ElasticJob(network, join(folder, 'job'), TOTAL);
  const random = seededRandom(7);
  const alone = { steps: STEPS, wanted: () => Math.ceil(random() * STEPS) };
  let round = -1;
  for (let strike = 0; strike < STRIKES; strike++) {
    // The first kinds are given, so that a short run has each.
    const kind = FIRST[strike] ?? KINDS[Math.floor(random() * KINDS.length)]!;
    const ranks = await job.advance({
      after: round,
      size: 2,
      steps: STEPS,
      wanted: Math.ceil(random() * STEPS),
    });
    round = ranks[0]!.round;
    if (kind === 'cut') await cutOff(job, secondHost(ranks));
    else await strikeAt(job, ranks, { kind, round, random, alone });
  }
  // A host that comes after the end would wait for another job.
  await job.allJoined();
  job.permit(TOTAL);
  const ends = await Promise.all(job.agents.map(({ ended }) => ended));
  rmSync(folder, { recursive: true, force: true });
  for (const { code, output } of ends) expect(code, output).toBe(0);
  expect(weightsIn(ends[0]!.output)).toEqual(expected);
}, 900_000);

it('saves before a host joins, and goes on where it was', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-elastic-'));
  await using network = await TestNetwork.create({ hosts: 2 });
  const [first, second] = network.hosts as [TestHost, TestHost];
  const start = (host: TestHost): Running => {
    const elastic = ['--nnodes', '1:2', '--last-call', '0', '--rdzv-endpoint', first.address];
    return launch(network, host, [...elastic, saveOnJoin, folder], { ACC_JOB_TOKEN: 'elastic' });
  };
  const running = [start(first)];
  await written(running[0]!, 'under way');
  running.push(start(second));
  const ends = await Promise.all(running.map(({ ended }) => ended));
  rmSync(folder, { recursive: true, force: true });
  const output = ends.map((end) => end.output).join('\n');
  expect(
    ends.map(({ code }) => code),
    output,
  ).toEqual([0, 0]);
  const saved = /last step (\d+)/.exec(output)?.[1] ?? expect.unreachable(output);
  expect(Number(saved)).toBeGreaterThan(0);
  // Round 2 begins with the step that round 1 ended with, although the program itself never saves.
  expect(output.match(/resumed at (\d+) with 2 ranks/)?.[1], output).toBe(saved);
});

/** Cuts a host off, waits until its launcher gives up, and starts it again. */
async function cutOff(job: ElasticJob, host: number): Promise<void> {
  await job.network.cut(job.network.hosts[host]!);
  const { code, output } = await job.agents[host]!.ended;
  expect(code, output).toBe(1);
  expect(output).toContain('ACC_RENDEZVOUS_LOST');
  await job.network.mend(job.network.hosts[host]!);
  job.start(host);
}

/** The weights after all steps of a run with one rank. */
async function undisturbed(network: TestNetwork, folder: string): Promise<string[]> {
  const { output, code } = await ElasticJob.alone(network, join(folder, 'alone'), TOTAL).ended;
  expect(code, output).toBe(0);
  return weightsIn(output);
}
