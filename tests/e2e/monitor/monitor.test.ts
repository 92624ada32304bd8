import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runRanks, type RankResult } from '@acc/testkit';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startChromium, type TestBrowser } from '../../chromium.js';

const acc = join(import.meta.dirname, '..', '..', '..', 'packages', 'cli', 'bin', 'acc.js');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 900 };

let projectDir: string;
let training: Promise<RankResult[]>;
let monitor: ChildProcess;
let browser: TestBrowser;
let page: Page;
let url: string;
/** Errors of the page, and its requests to others. */
const wrong: string[] = [];

beforeAll(async () => {
  // It may have to be installed, for longer than a rank waits for another one.
  browser = await startChromium();
  projectDir = mkdtempSync(join(tmpdir(), 'acc-monitor-'));
  const script = new URL('./ranks/train.ts', import.meta.url);
  training = runRanks({ script, ranks: 2, args: [projectDir], timeoutMs: 600_000 });
  await vi.waitUntil(() => ranksWithSteps() === 2, { timeout: 300_000 });
  const runs = join(projectDir, 'runs');
  monitor = spawn(process.execPath, [acc, 'monitor', '--attach', runs, '--port', '0', '--no-open']);
  let printed = '';
  monitor.stdout!.setEncoding('utf8').on('data', (text: string) => (printed += text));
  await vi.waitUntil(() => /\/#\S+\n/.test(printed), { timeout: 300_000 });
  [url] = /http:\S+/.exec(printed) as unknown as [string];
  page = await browser.context.newPage();
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(url).origin) && !request.url().startsWith('data:'))
      wrong.push(request.url());
  });
}, 600_000);

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  if (monitor?.kill('SIGTERM')) await once(monitor, 'close');
});

function ranksWithSteps(): number {
  const names = readdirSync(projectDir, { recursive: true, encoding: 'utf8' });
  const steps = names.filter((name) => /insight.steps-rank-\d\.acc$/.test(name));
  // More than the columns, which come first.
  return steps.filter((name) => readFileSync(join(projectDir, name)).length > 1000).length;
}

it('without the token there is nothing to see, and a wrong one does not help', async () => {
  const { origin } = new URL(url);
  for (const address of [origin, `${origin}/#wrong`]) {
    await page.goto(address);
    await page.getByText('Open the address that acc monitor printed.').waitFor();
  }
});

it('a page of another site, or under another name, is refused', async () => {
  const { origin } = new URL(url);
  const others: Record<string, string>[] = [
    { Host: 'attacker.example' },
    { Origin: 'http://attacker.example' },
  ];
  for (const headers of others) {
    const answer = await browser.context.request.get(`${origin}/api/runs`, { headers });
    expect([answer.status(), await answer.json()]).toMatchObject([403, { code: 'ACC_MONITOR_REFUSED' }]);
  }
});

it('shows the verdict, curves and ranks of a run on 2 ranks, and follows it', async () => {
  await page.setViewportSize(DESKTOP);
  await page.goto(url);
  await page.getByRole('heading', { level: 1, name: /^watched\// }).waitFor();
  // The cookie has taken the place of the token.
  expect(page.url()).toBe(`${new URL(url).origin}/`);
  // A step is written when the next one has ended.
  await page.getByRole('status').filter({ hasText: 'Live · step 29 · 2 ranks' }).waitFor();
  await page.locator('.verdict h2').first().waitFor();
  for (const title of [
    'Loss',
    'Step time',
    'Samples per second',
    'Gradient norm',
    'Memory of the process',
    'CPU',
  ])
    await page.locator('figure', { hasText: title }).locator('canvas').waitFor();
  const ranks = page.getByRole('region', { name: 'Times of ranks' });
  expect(await ranks.getByRole('rowheader').allTextContents()).toEqual([
    expect.stringMatching(/^0/),
    expect.stringMatching(/^1/),
  ]);
});

it('shows where each rank of a job that hangs is, and its last collectives', async () => {
  const job = page.getByRole('region', { name: 'Running job' });
  await job.getByRole('button', { name: 'Stacks of all ranks' }).click();
  const of = (name: string) => job.getByRole('article').filter({ has: page.getByRole('heading', { name }) });
  const waiting = of('Rank 0');
  await waiting.getByText('It is in a collective, where it waits for other ranks.').waitFor();
  await waiting.getByText('barrier').first().waitFor();
  await waiting.getByText(/Last known line of a call: .*train\.ts:\d+/).waitFor();
  const busy = of('Rank 1');
  await busy.getByText('It is in JavaScript.').waitFor();
  await busy.getByText(/^waitForFile \(.*train\.ts/).waitFor();
});

it('has the images, tables and checkpoints of the run', async () => {
  const media = page.getByRole('region', { name: 'Images and tables' });
  const image = media.getByRole('img', { name: 'sample at step 20' });
  const isLoaded = () => image.evaluate((element) => (element as HTMLImageElement).naturalWidth === 8);
  await vi.waitUntil(isLoaded, { timeout: 300_000 });
  await media.getByRole('slider', { name: 'Step of sample' }).press('ArrowLeft');
  await media.getByRole('img', { name: 'sample at step 10' }).waitFor();
  await media.getByRole('row', { name: 'cat 7' }).waitFor();
  const checkpoints = page.getByRole('region', { name: 'Checkpoints', exact: true });
  await checkpoints.getByRole('row', { name: /^30 .*step-00000030/ }).waitFor();
  await page.getByText(/^cd .* && node .*train\.ts/).waitFor();
});

it('records the next steps of all ranks, and gives the trace', async () => {
  writeFileSync(join(projectDir, 'go'), '');
  await page
    .getByRole('status')
    .filter({ hasText: /step ([6-9]\d|\d{3}|[\d,]{5,}) · 2 ranks/ })
    .waitFor();
  const job = page.getByRole('region', { name: 'Running job' });
  await job.getByLabel('The next').fill('2');
  await job.getByRole('button', { name: 'Record' }).click();
  const window = page.getByRole('region', { name: 'Recorded steps' });
  await window.getByRole('img', { name: /^Timeline of 2 ranks, 0 to/ }).waitFor();
  await window.getByRole('option', { name: /2 steps of 2 ranks/ }).waitFor({ state: 'attached' });
  await window.getByRole('columnheader', { name: 'Rank 1' }).waitFor();
  await window
    .getByRole('row', { name: /allReduce.* \(collective\)/ })
    .first()
    .waitFor();
  await window.getByRole('row', { name: /^parameters / }).waitFor();
  const loading = page.waitForEvent('download');
  await window.getByRole('link', { name: 'Trace for Perfetto' }).click();
  const trace = readFileSync(await (await loading).path());
  for (const rank of [0, 1]) expect(trace.includes(`rank ${rank} of 2`)).toBe(true);
});

it('says when the job has ended', async () => {
  writeFileSync(join(projectDir, 'stop'), '');
  for (const { exitCode, stderr } of await training) expect(exitCode, stderr).toBe(0);
  await page.getByRole('status').filter({ hasText: 'Not running' }).waitFor();
  await page.getByText('The job does not run any more, so it cannot be asked.').waitFor();
  expect(await page.getByRole('button', { name: 'Record' }).isDisabled()).toBe(true);
});

it('the keyboard zooms a chart, and shows all again', async () => {
  const chart = page.getByRole('img', { name: /^Step time/ });
  const whole = await chart.getAttribute('aria-label');
  const answer = page.waitForResponse(/from=/);
  await chart.press('+');
  const { from, to } = (await (await answer).json()) as { from: number; to: number };
  // Steps from 2 to the last one.
  expect(from - 2).toBeCloseTo((to - from) / 2);
  await chart.press('0');
  await vi.waitUntil(async () => (await chart.getAttribute('aria-label')) === whole, { timeout: 300_000 });
});

it.each([
  ['a wide window', DESKTOP],
  ['a phone', PHONE],
])('has no fault that axe-core finds, and is no wider than %s, light and dark', async (_, size) => {
  await page.setViewportSize(size);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator('canvas').first().waitFor();
    await page.evaluate(axe);
    const found = await page.evaluate(
      'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))',
    );
    expect(found).toEqual([]);
    const surplus = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(surplus).toBe(0);
  }
  expect(wrong).toEqual([]);
});
