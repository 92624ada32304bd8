import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { StepRow } from '../format.js';
import { syntheticRun } from '../synthetic.js';
import { DETECTORS } from './detectors.js';
import { diagnoseRun } from './diagnose.js';
import type { Detector } from './finding.js';
import { CHANGED_OPTIONS, LAUNCH_OPTIONS, LOADER_OPTIONS } from './options.js';
import { Run } from './run.js';
import { divide, max, min } from './statistics.js';

const root = new URL('../../../../', import.meta.url);

describe('records of all kinds are judged', () => {
  it('of long runs', () => {
    const { ranks } = syntheticRun({ rates: { rssBytes: 9.5e9 } });
    const samples = Array.from({ length: 200_000 }, (_, i) => ({ ...ranks[0]!.samples[1]!, time: i / 200 }));
    const { findings } = diagnoseRun({ problems: [], ranks: [{ ...ranks[0]!, samples }] });
    expect(findings.map(({ id }) => id)).toEqual(['near-oom']);
    const many = Array.from({ length: 200_000 }, (_, i) => Math.floor(i / 100_000));
    expect([min(many), max(many)]).toEqual([0, 1]);
    expect(Math.abs(divide(many, 20)!.at - 100_000)).toBeLessThan(1000);
  });

  it('of a rank without samples', () => {
    const { ranks } = syntheticRun({ ranks: 2 });
    const [first, second] = ranks;
    const { notJudged } = diagnoseRun({ problems: [], ranks: [first!, { ...second!, samples: [] }] });
    expect(notJudged).toContainEqual({ id: 'cpu-steal', reason: 'no two samples of each process' });
  });

  it('of a run that was resumed: its first steps, and counters of another process, do not count', () => {
    const { ranks } = syntheticRun();
    const { steps, samples } = ranks[0]!;
    const resumed = new Run({ problems: [], ranks: [{ ...ranks[0]!, resumedAt: 60 }] });
    expect(resumed.allRows(0)).toEqual(steps.slice(60));
    const again = samples.map((row, i) => ({ ...row, cpuMs: i < 3 ? 9000 : row.cpuMs }));
    expect(new Run({ problems: [], ranks: [{ ...ranks[0]!, samples: again }] }).samples(0)).toEqual(
      again.slice(3),
    );
  });

  it('but not without a common step', () => {
    const { ranks } = syntheticRun({ ranks: 2 });
    const steps = ranks[1]!.steps.map((row) => ({ ...row, step: row.step + 1000 }));
    const given = { problems: ['samples are damaged.'], ranks: [ranks[0]!, { ...ranks[1]!, steps }] };
    expect(() => diagnoseRun(given)).toThrow(/no recorded step in common/);
    expect(() => diagnoseRun(given)).toThrow(
      expect.objectContaining({ help: expect.stringContaining('damaged') as string }) as Error,
    );
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

/** Ids of findings that detectors with another id have. */
const OF_OTHERS = [
  ...['not-replayed', 'reduce-each-micro', 'small-buckets', 'wrong-strategy'],
  ...['no-overlap', 'last-bucket', 'accumulate-more'],
];

it('advice names options that exist, and each finding has a section of the guide that says how to verify the change', () => {
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
  const ids = [...DETECTORS.map(({ id }) => id), ...OF_OTHERS];
  const sections = new Map(guide.split(/^#{2,3} /m).map((text) => [text.split('\n', 1)[0], text]));
  expect(ids.filter((id) => !sections.get(id)?.includes('\n**Verify:** '))).toEqual([]);
});
