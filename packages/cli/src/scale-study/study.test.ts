import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Finding, StepTimes, TimeShares } from '@acc/records';
import { checkBatches, checkRun } from './check-batches.js';
import { htmlOf, markdownOf } from './blocks.js';
import { limitOf, lossesOf } from './limit.js';
import { summaryOf } from './report.js';
import { reportSoFar, turnsOf } from './run-study.js';
import { studyOf, type StudyPlan, type StudyRun } from './study.js';
import { sharesTable } from './tables.js';

const PLAN: StudyPlan = { kind: 'strong', script: '/a/train.ts', args: [], turns: 1, threads: 1, cores: 8 };
const COMPUTE: TimeShares = { compute: 1, data: 0, saves: 0, loop: 0, communication: 0, imbalance: 0 };

function runOf(ranks: number, stepMs: number, more: Partial<StepTimes> = {}): StudyRun {
  const samples = more.samples ?? 64;
  const times: StepTimes = {
    ...{ steps: 100, ranks: Array.from({ length: ranks }, (_, i) => i), stepMs, bytesSent: 2 ** 20 },
    ...{ samples, samplesPerSecond: (1000 * samples) / stepMs, shares: COMPUTE, byRank: [] },
    ...more,
  };
  return { ranks, turn: 1, folder: '', times };
}

const codeOf = (act: () => void): unknown => {
  try {
    act();
  } catch (error) {
    return (error as { code: string }).code;
  }
  return undefined;
};

describe('a study', () => {
  it('has medians with their spread, speed-up, efficiency and serial share', () => {
    const runs = [runOf(1, 40), runOf(1, 42), runOf(1, 38), runOf(2, 25), runOf(4, 20)];
    const { sizes, amdahl, gustafson, isFit, linearFactor } = studyOf(PLAN, runs, []);
    expect(sizes[0]!.stepMs).toEqual({ median: 40, low: 38, high: 42 });
    expect(sizes.map(({ speedUp }) => speedUp)).toEqual([1, 1.6, 2]);
    expect(sizes.map(({ efficiency }) => efficiency)).toEqual([1, 0.8, 0.5]);
    expect(sizes[2]!.karpFlatt).toBeCloseTo(1 / 3, 10);
    expect(linearFactor).toBeCloseTo((1 + 3.2 + 8) / 21, 10);
    // 40 ms = 10 + 30 and 25 = 10 + 15, and 17.5 on 4.
    expect(amdahl!.serial).toBeGreaterThan(0.25);
    expect(gustafson).toBeNull();
    expect(isFit).toBe(false);
  });

  it('compares with the fewest ranks if none is 1', () => {
    const { sizes } = studyOf(PLAN, [runOf(2, 40), runOf(8, 20)], []);
    expect(sizes[1]).toMatchObject({ speedUp: 2, efficiency: 0.5 });
    expect(sizes[1]!.karpFlatt).toBeCloseTo((1 / 2 - 1 / 4) / (1 - 1 / 4), 10);
  });

  it('runs each second turn the other way round', () => {
    const order = turnsOf({ ranks: [1, 2], turns: 2 }).map(({ ranks, turn }) => `${turn}:${ranks}`);
    expect(order).toEqual(['1:1', '1:2', '2:2', '2:1']);
  });
});

describe('the limit that is named', () => {
  const part = (name: keyof TimeShares, share: number): TimeShares => ({
    ...COMPUTE,
    compute: 1 - share,
    [name]: share,
  });

  it.each<[keyof TimeShares, string]>([
    ['communication', 'communication between the ranks that nothing hides'],
    ['imbalance', 'waits for slower ranks'],
    ['data', 'waits for batches'],
    ['saves', 'waits for checkpoints'],
    ['loop', "the program's own code"],
  ])('is the part that makes a step longer than a linear one: %s', (name, text) => {
    const study = studyOf(PLAN, [runOf(1, 40), runOf(2, 40, { shares: part(name, 0.5) })], []);
    expect(lossesOf(study)[0]).toEqual({ part: name, ms: 20 });
    expect(limitOf(study)).toContain(`Most of the difference (100 %) is ${text}`);
  });

  it('is computation where only that became longer, and cores are named if they are too few', () => {
    const plan: StudyPlan = { ...PLAN, kind: 'weak', cores: 2 };
    const text = limitOf(studyOf(plan, [runOf(1, 40), runOf(4, 100, { samples: 256 })], []));
    expect(text).toContain('is computation itself');
    expect(text).toContain('4 ranks of 1 thread share 2 cores');
  });

  it('is none for a program that is nearly linear', () => {
    const text = limitOf(studyOf(PLAN, [runOf(1, 40), runOf(2, 21)], []));
    expect(text).toContain('On 2 ranks the efficiency is 95 %. Little limits');
    const linear = [1, 2, 4].map((ranks) => runOf(ranks, 40 / ranks));
    expect(limitOf(studyOf(PLAN, linear, []))).not.toContain('Karp');
  });

  it('has no trend of the serial share in a weak study, where a cost of each step makes it fall', () => {
    const runs = [1, 2, 4].map((ranks) => runOf(ranks, ranks === 1 ? 40 : 60, { samples: 64 * ranks }));
    const text = limitOf(studyOf({ ...PLAN, kind: 'weak' }, runs, []));
    expect(text).not.toContain('Karp');
    expect(text).toContain("3 numbers of ranks are too few to show that a law holds. Gustafson's");
  });

  it('has what acc diagnose says, and whether the serial share grows', () => {
    const finding: Finding = {
      ...{ id: 'small-buckets', severity: 'critical' as const, share: 0.4, evidence: [], ranks: [0, 1] },
      ...{ cause: 'Many buckets.', since: null, advice: 'Make them larger.', change: null, gain: null },
    };
    const runs = [runOf(1, 40), runOf(2, 22), runOf(4, 18), runOf(8, 17)];
    const text = limitOf(studyOf(PLAN, runs, [finding]));
    expect(text).toContain('small-buckets (40 %): Many buckets. Make them larger.');
    expect(text).toContain('The serial share by Karp and Flatt grows from 10 %');
    expect(text).toContain("Amdahl's law describes the rates");
  });
});

describe('runs', () => {
  it('are refused if they are not weak or strong, as asked', () => {
    const weak = [runOf(1, 10, { samples: 32 }), runOf(2, 10, { samples: 64 })];
    const strong = [runOf(1, 10, { samples: 32 }), runOf(2, 10, { samples: 32 })];
    expect(codeOf(() => checkBatches('weak', weak))).toBeUndefined();
    expect(codeOf(() => checkBatches('strong', strong))).toBeUndefined();
    expect(codeOf(() => checkBatches('strong', weak))).toBe('ACC_STUDY_BATCH');
    expect(codeOf(() => checkBatches('weak', strong))).toBe('ACC_STUDY_BATCH');
    // A batch of 1 on each of 2 ranks is no part of a batch of 1.
    const ones = [runOf(1, 10, { samples: 1 }), runOf(2, 10, { samples: 2 })];
    expect(codeOf(() => checkBatches('strong', ones))).toBe('ACC_STUDY_BATCH');
    const rounded = [runOf(1, 10, { samples: 32 }), runOf(3, 10, { samples: 30 })];
    expect(codeOf(() => checkBatches('strong', rounded))).toBeUndefined();
  });

  it('are refused with few steps, or without samples', () => {
    expect(codeOf(() => checkRun(runOf(2, 10, { ranks: [0] })))).toBe('ACC_STUDY_RECORDS');
    expect(codeOf(() => checkRun(runOf(1, 10, { steps: 19 })))).toBe('ACC_STUDY_RECORDS');
    expect(codeOf(() => checkRun(runOf(1, 10, { samplesPerSecond: NaN })))).toBe('ACC_STUDY_RECORDS');
    expect(codeOf(() => checkRun(runOf(1, 10, { samples: 0 })))).toBe('ACC_STUDY_RECORDS');
    expect(codeOf(() => checkRun(runOf(1, 10)))).toBeUndefined();
  });
});

it('that ends early has a report of the runs before, if they had two numbers of ranks', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-study-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const soFar = (runs: StudyRun[]) =>
    reportSoFar({ ranks: [1, 2], turns: 3 }, { setup: { plan: PLAN }, folder, runs }, async () => ({
      findings: [],
    }));
  expect(await soFar([runOf(1, 40)])).toBe(
    `${folder} has 1 finished run and no report, which takes two numbers of ranks`,
  );
  const path = join(folder, 'report.md');
  expect(await soFar([runOf(1, 40), runOf(2, 25), runOf(2, 26)])).toBe(
    `${path} has the figures of 3 of 6 runs`,
  );
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(
    'The study ended early: this report has 3 of 6 runs.\n\nOn 2 ranks the efficiency is',
  );
  const lost = await soFar([{ ...runOf(1, 40), times: undefined as never }, runOf(2, 25)]);
  expect(lost).toMatch(/^its report cannot be written: /);
});

it('the figures for a terminal are not wider than it', () => {
  const study = studyOf(PLAN, [runOf(1, 40), runOf(2, 22), runOf(4, 18)], []);
  const files = { markdown: 'a.md', html: 'a.html' };
  const widest = (output: object) =>
    Math.max(
      ...summaryOf(study, files, output)
        .split('\n')
        .slice(5)
        .map(({ length }) => length),
    );
  expect(widest({ isTTY: true, columns: 60 })).toBeLessThanOrEqual(60);
  expect(widest({})).toBeLessThanOrEqual(100);
  expect(widest({})).toBeGreaterThan(80);
});

it('a report is the same in Markdown and HTML, whose text is escaped', () => {
  const { sizes } = studyOf(PLAN, [runOf(1, 40), runOf(2, 22)], []);
  const blocks = [
    { kind: 'text', text: 'a < b & c' },
    { kind: 'table', ...sharesTable(sizes) },
    { kind: 'picture', file: 'a.svg', text: 'A' },
    { kind: 'text', text: '*.ts <img src=x>' },
  ] as const;
  expect(markdownOf('T', blocks)).toContain(
    '| 2 | 100 % | 0 % | 0 % | 0 % | 0 % | 0 % | 0 % | 1.00 |\n\n![A](a.svg)\n\n\\*.ts \\<img src=x\\>\n',
  );
  const html = htmlOf('T', blocks, { 'a.svg': '<svg/>' });
  expect(html).toContain('<p>a &#60; b &#38; c</p>');
  expect(html).toContain('<figure><svg/></figure>');
});
