import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { StepRow } from '../format.js';
import { diagnose, readRecords } from '../read-records.js';
import { syntheticRun, type Synthetic } from '../testing/synthetic.js';
import { DETECTORS } from './detectors.js';
import { diagnoseRun } from './diagnose.js';
import type { Detector, Finding } from './finding.js';
import { CHANGED_OPTIONS, LAUNCH_OPTIONS, LOADER_OPTIONS } from './options.js';
import { replay } from './replay.js';
import { Run } from './run.js';

const root = new URL('../../../../', import.meta.url);
const runs = fileURLToPath(new URL('../testing/runs/', import.meta.url));

/** Records of programs of `npm run bench:diagnose`, and the ids that name their cause. */
const RECORDED: Readonly<Record<string, readonly string[]>> = {
  '2-ranks-of-2-threads': ['oversubscribed'],
  'a-checkpoint-every-20-steps': ['checkpoint-stall'],
  'activations-computed-again': ['recompute-needless'],
  'an-evaluation-every-5-steps': ['loop-code'],
  'buckets-of-4-KiB': ['small-buckets'],
  'compiled-MLP': [],
  ddp: [],
  'loader-decodes-on-the-main-thread': ['data-bound'],
  'gradients-reduced-after-each-micro-batch': ['reduce-each-micro'],
  'learning-rate-times-10-000': ['not-learning'],
  'loader-reads-slowly': ['data-bound'],
  'log-of-a-negative-number': ['non-finite'],
  'objects-for-the-garbage-collector': ['gc'],
  'shuffled-labels': ['not-learning'],
  'tensors-that-stay': ['leak'],
  'rank-1-computes-twice-as-much': ['slow-rank'],
  'weights-as-text-in-each-step': ['loop-code'],
};

const findingsOf = (given: Synthetic) => diagnoseRun(syntheticRun(given)).findings;
const only = (given: Synthetic): Finding => {
  const findings = findingsOf(given);
  expect(findings.map(({ id }) => id)).toHaveLength(1);
  return findings[0]!;
};

describe('the records of a real run', () => {
  it('are all listed', () => {
    expect(readdirSync(runs).toSorted()).toEqual(Object.keys(RECORDED).toSorted());
  });

  it.each(Object.entries(RECORDED))('%s', async (name, expected) => {
    const { findings } = await diagnose(`${runs}${name}`);
    // The machine that recorded them ran other programs.
    const ids = findings.map(({ id }) => id).filter((id) => id !== 'cpu-steal');
    if (expected.length === 0) expect(ids).toEqual([]);
    else expect(expected).toContain(ids[0]);
  });

  it.each(Object.keys(RECORDED))('%s takes as long in a replay without a change', async (name) => {
    const run = new Run(await readRecords(`${runs}${name}`));
    const rows = run.steps.map((steps) => steps.at(-1)!.row.end - steps[0]!.row.start);
    expect(replay(run) / Math.max(...rows)).toBeGreaterThan(0.985);
    expect(replay(run) / Math.max(...rows)).toBeLessThan(1.015);
  });
});

describe('a finding', () => {
  it('is not there in a healthy run, and everything with a column was judged', () => {
    const { findings, notJudged } = diagnoseRun(syntheticRun({ ranks: 2 }));
    expect(findings).toEqual([]);
    expect(notJudged.map(({ id }) => id).toSorted()).toEqual(['gc', 'launch-bound']);
  });

  it('has the gain of a slow rank: 14 ms on rank 1, 10 ms on rank 0', () => {
    const step = (_: number, rank: number) =>
      rank === 1 ? { ms: 14, forward: 7 } : { ms: 14, exposed: 4, blocked: 4 };
    const { id, ranks, gain, share } = only({ ranks: 2, step });
    expect([id, ranks]).toEqual(['slow-rank', [1]]);
    expect(gain!.mid).toBeCloseTo(4 / 14, 2);
    expect(share).toBe(gain!.mid);
  });

  it('says which step a slowdown began with, and what grew', () => {
    const { id, since, cause, gain } = only({
      steps: 200,
      step: (step) => (step > 120 ? { ms: 20, forward: 13 } : {}),
    });
    expect([id, since?.step]).toEqual(['slowdown-since', 121]);
    expect(cause).toContain('passes and optimizer');
    expect(gain!.mid).toBeCloseTo(0.27, 1);
  });

  it('tells work of every 5th step from that of each', () => {
    const { id, evidence, gain } = only({ step: (step) => (step % 5 === 0 ? { ms: 30 } : {}) });
    expect(id).toBe('loop-code');
    expect(evidence.at(-1)).toMatchObject({ quantity: 'period', value: 5 });
    expect(gain!.mid).toBeCloseTo(4 / 14, 2);
    expect(only({ step: () => ({ ms: 14 }) }).evidence).toHaveLength(2);
  });

  it.each([
    [{ loader: 5, ms: 15 }, 700, 'dataLoader.prefetch', 2],
    [{ loader: 30, ms: 40 }, 100, 'DataLoader numWorkers', 4],
  ])('advises %o of waiting: more is read ahead', (times, cpuMs, option, to) => {
    const { id, change } = only({ step: () => times, rates: { cpuMs } });
    expect([id, change?.option, change?.to]).toEqual(['data-bound', option, to]);
  });

  it('does not expect workers to be faster than the processors', () => {
    const given = { step: () => ({ loader: 30, ms: 40 }), rates: { cpuMs: 1000 } };
    // 40 ms of processor time in each step, on two processors.
    expect(only(given).gain!.mid).toBeCloseTo(0.5, 2);
  });

  it('names an option, its value, and the line that sets it', () => {
    const options = { checkpoint: { async: false } };
    const step = (at: number) => (at % 20 === 0 ? { ms: 110, saves: 100 } : {});
    expect(only({ step, facts: { options } }).change).toEqual({
      ...{ option: 'checkpoint.async', from: false, to: true, line: 'train.ts:3:7' },
    });
  });

  it.each([
    ['reduce-each-micro', { gradientAccumulationSteps: 4, ddp: { syncEachBatch: true } }, 0.3],
    ['small-buckets', { ddp: { bucketBytes: 4096 } }, 0.4],
    ['comm-bound', { ddp: {} }, 0.2],
  ])('of communication is %s with %o', (id, options, gain) => {
    const step = () => ({ ms: 16.7, exposed: 6.7, blocked: 6.7, bytesSent: 4_096_000 });
    const found = only({ ranks: 2, step, facts: { options } });
    expect(found.id).toBe(id);
    expect(found.gain!.mid).toBeCloseTo(gain, 1);
  });

  it('of processors is that of the job, or of others', () => {
    const rates = { runQueueMs: 300, cpuMs: 700, hostBusyMs: 2000 };
    const found = findingsOf({ ranks: 2, facts: { threads: 2 }, rates: { ...rates, cpuMs: 1000 } });
    expect(found.map(({ id, change }) => [id, change?.to])).toEqual([['oversubscribed', 1]]);
    expect(only({ rates }).id).toBe('cpu-steal');
    // Two threads too many, and two processors that others use.
    const shared = findingsOf({ ranks: 2, facts: { threads: 2 }, rates: { ...rates, hostBusyMs: 3400 } });
    expect(shared.map(({ id, share }) => [id, share.toFixed(2)])).toEqual([
      ['oversubscribed', '0.15'],
      ['cpu-steal', '0.15'],
    ]);
    // The processors are busy, and the training has one of its own.
    expect(findingsOf({ rates: { ...rates, runQueueMs: 10 } })).toEqual([]);
  });

  it('of processors says since when: other programs began after 6 s', () => {
    const recorded = syntheticRun({ step: () => ({ ms: 100, forward: 93 }), rates: { hostBusyMs: 2000 } });
    const [rank] = recorded.ranks;
    const samples = rank!.samples.map((row) => ({ ...row, runQueueMs: Math.max(0, row.time - 6000) / 2 }));
    const { findings } = diagnoseRun({ problems: [], ranks: [{ ...rank!, samples }] });
    expect(findings.map(({ id }) => id)).toEqual(['cpu-steal']);
    // The step from 6.0 s to 6.1 s is the 62nd.
    expect(Math.abs(findings[0]!.since!.step - 62)).toBeLessThanOrEqual(3);
  });

  it.each<[string, Synthetic]>([
    ['gc', { step: () => ({ gc: 1 }) }],
    ['leak', { step: (step) => ({ tensors: 100 + 2 * step, allocatedBytes: 1e6 * step }) }],
    ['near-oom', { rates: { rssBytes: 9.5e9 } }],
    ['launch-bound', { step: () => ({ calls: 100, kernels: 4 }) }],
    ['recompute-needless', { facts: { options: { checkpointEvery: 2 } } }],
    ['non-finite', { step: (step) => (step >= 50 && step % 10 === 0 ? { nonFinite: 1, loss: NaN } : {}) }],
    ['loss-spike', { steps: 300, step: (step) => (step >= 200 && step % 10 === 0 ? { loss: 40 } : {}) }],
    ['not-learning', { step: (step) => (step % 10 === 0 ? { loss: 2.3 } : {}) }],
  ])('%s', (id, given) => {
    expect(only(given).id).toBe(id);
    // Half of its limit is no finding.
    expect(findingsOf({})).toEqual([]);
  });

  it('is none for a loss that was not finite once, and for tensors that go', () => {
    const step = (at: number) => ({
      ...(at === 50 && { nonFinite: 1, loss: NaN }),
      tensors: 100 + (at % 30),
    });
    expect(findingsOf({ step })).toEqual([]);
  });
});

describe('what cannot be judged is said', () => {
  it('with the column', () => {
    const recorded = syntheticRun();
    const [rank] = recorded.ranks;
    const steps = rank!.steps.map(({ loader: _, saves: __, ...row }) => row) as unknown as StepRow[];
    const { notJudged } = diagnoseRun({
      problems: [],
      ranks: [{ ...rank!, steps, samples: [], facts: undefined }],
    });
    const reasons = Object.fromEntries(notJudged.map(({ id, reason }) => [id, reason]));
    expect(reasons).toMatchObject({
      ...{ 'data-bound': 'no column loader', 'checkpoint-stall': 'no column saves' },
      ...{ 'near-oom': 'no two samples of each process', 'non-finite': 'no fact options' },
    });
  });

  it('for a short run, and for a run without the records of a rank', () => {
    const short = diagnoseRun(syntheticRun({ steps: 12 })).notJudged;
    expect(short.find(({ id }) => id === 'data-bound')!.reason).toBe(
      'only 10 of 20 steps after the first ones',
    );
    const { ranks, problems } = syntheticRun({ ranks: 2 });
    const { notJudged } = diagnoseRun({ ranks: ranks.slice(0, 1), problems });
    expect(notJudged.find(({ id }) => id === 'slow-rank')!.reason).toBe(
      'the records of 1 of 2 ranks are missing',
    );
  });
});

it('detectors of others are asked too, and may take the place of ours', () => {
  const find = (run: Run) => `${run.length} steps`;
  const own: Detector = { id: 'of-others', needs: {}, find };
  const judged = (detectors: Detector[]) => diagnoseRun(syntheticRun(), { detectors }).notJudged;
  expect(judged([own])).toContainEqual({ id: 'of-others', reason: '110 steps' });
  expect(judged([{ ...own, id: 'gc' }]).filter(({ id }) => id === 'gc')).toEqual([
    { id: 'gc', reason: '110 steps' },
  ]);
});

it('advice names options that exist, and each finding has a section of the guide', () => {
  const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
  const options = read('tests/architecture/option-names.txt').split('\n\n');
  const namesOf = (first: string) => options.find((text) => text.startsWith(first))!.split('\n');
  const accelerator = namesOf('Accelerator.create').map((line) => line.trim());
  expect(CHANGED_OPTIONS.filter((name) => !accelerator.includes(name))).toEqual([]);
  expect(
    LAUNCH_OPTIONS.filter((name) => !read('tests/architecture/option-names.txt').includes(`--${name}`)),
  ).toEqual([]);
  expect(
    LOADER_OPTIONS.filter((name) => !read('packages/data/src/options.ts').includes(`  ${name}: z.`)),
  ).toEqual([]);
  const guide = read('site/docs/guide/diagnose.md');
  const ids = [...DETECTORS.map(({ id }) => id), 'small-buckets', 'reduce-each-micro'];
  expect(ids.filter((id) => !guide.includes(`\n### ${id}\n`))).toEqual([]);
});
