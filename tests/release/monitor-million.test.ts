// `acc monitor` shows a run of a million steps in a real browser: each column of pixels has its exact extremes.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { KIND, MAGIC, BLOCK_HEADER_BYTES, STEP_COLUMNS } from '@acc/records';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startChromium, type TestBrowser } from '../chromium.js';

const STEPS = 1_000_000;
const ROWS = 10_000;
const PEAK = 734_211;
const BAD = 412_345;
const acc = join(import.meta.dirname, '..', '..', 'packages', 'cli', 'bin', 'acc.js');

/** The loss of a step, the same each time it is asked for. */
function lossOf(step: number): number {
  if (step === BAD) return NaN;
  if (step === PEAK) return 1000;
  const noise = Math.sin(step * 12.9898) * 43_758.5453;
  return 1 + noise - Math.floor(noise);
}

function block(kind: number, payload: Uint8Array): Buffer {
  const header = Buffer.alloc(BLOCK_HEADER_BYTES);
  for (const [i, word] of [MAGIC, kind, payload.length, crc32(payload)].entries())
    header.writeUInt32LE(word, 4 * i);
  return Buffer.concat([header, payload]);
}

function writeRun(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'steps-rank-0.acc');
  writeFileSync(path, block(KIND.columns, Buffer.from(JSON.stringify({ columns: STEP_COLUMNS, rank: 0 }))));
  for (let from = 1; from <= STEPS; from += ROWS) {
    const values = new Float64Array(ROWS * STEP_COLUMNS.length).fill(NaN);
    const fill = (name: (typeof STEP_COLUMNS)[number], of: (step: number) => number) => {
      const at = STEP_COLUMNS.indexOf(name) * ROWS;
      for (let i = 0; i < ROWS; i++) values[at + i] = of(from + i);
    };
    fill('step', (step) => step);
    fill('start', (step) => 1e12 + step - 1);
    fill('end', (step) => 1e12 + step);
    fill('loss', lossOf);
    fill('nonFinite', (step) => (Number.isFinite(lossOf(step)) ? 0 : 1));
    appendFileSync(path, block(KIND.rows, deflateRawSync(Buffer.from(values.buffer), { level: 1 })));
  }
  const facts = { rank: 0, ranks: 1, host: 'a', options: {}, createdAt: null };
  writeFileSync(join(folder, 'facts-rank-0.jsonl'), `${JSON.stringify(facts)}\n`);
}

let monitor: ChildProcess;
let browser: TestBrowser;
let page: Page;

beforeAll(async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'acc-million-')), 'insight');
  writeRun(folder);
  monitor = spawn(process.execPath, [acc, 'monitor', folder, '--port', '0', '--no-open']);
  const [printed] = (await once(monitor.stdout!, 'data')) as [Buffer];
  browser = await startChromium();
  page = await browser.context.newPage();
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(/http:\S+/.exec(printed.toString())![0]);
}, 600_000);

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  if (monitor?.kill('SIGTERM')) await once(monitor, 'close');
});

interface Set {
  readonly from: number;
  readonly to: number;
  readonly curves: readonly {
    readonly id: string;
    readonly series: readonly {
      readonly x: number[];
      readonly y: (number | null)[];
      readonly nonFinite: { x: number; count: number }[];
    }[];
  }[];
}

/** By column of pixels, the first, smallest, largest and last finite values, and the values that are not finite. */
function columnsOf(
  x: readonly number[],
  y: readonly (number | null)[],
  view: { from: number; to: number; width: number },
) {
  const columns = new Map<number, [first: number, least: number, most: number, last: number]>();
  for (const [i, at] of x.entries()) {
    const value = y[i]!;
    if (value === null || !Number.isFinite(value) || at < view.from || at > view.to) continue;
    const column = Math.min(
      view.width - 1,
      Math.floor(((at - view.from) / (view.to - view.from)) * view.width),
    );
    const known = columns.get(column);
    columns.set(
      column,
      known
        ? [known[0], Math.min(known[1], value), Math.max(known[2], value), value]
        : [value, value, value, value],
    );
  }
  return columns;
}

/** The next answer with the curves over steps. */
async function nextCurves(): Promise<Set & { width: number }> {
  const answer = await page.waitForResponse((response) => /curves\?.*axis=step/.test(response.url()));
  return {
    ...((await answer.json()) as Set),
    width: Number(new URL(answer.url()).searchParams.get('width')),
  };
}

function expectExact({ curves, ...view }: Set & { width: number }): void {
  const { x, y, nonFinite } = curves.find(({ id }) => id === 'loss')!.series[0]!;
  const steps = Array.from({ length: STEPS }, (_, i) => i + 1);
  expect(columnsOf(x, y, view)).toEqual(columnsOf(steps, steps.map(lossOf), view));
  const isInside = view.from <= BAD && BAD <= view.to;
  expect(nonFinite).toEqual(isInside ? [{ x: BAD, count: 1 }] : []);
}

it('each column has its exact extremes, of all steps and of a part', { timeout: 600_000 }, async () => {
  const chart = page.locator('figure', { has: page.getByRole('heading', { name: 'Loss', exact: true }) });
  await chart.locator('canvas').waitFor();
  await chart.getByText('1 value is NaN or infinite (red lines).').waitFor();
  const whole = nextCurves();
  await chart.getByRole('img').press('0');
  expectExact(await whole);
  const box = (await chart.locator('.u-over').boundingBox())!;
  const xOf = (step: number) => box.x + (step / STEPS) * box.width;
  const part = nextCurves();
  await page.mouse.move(xOf(PEAK - 60_000), box.y + 50);
  await page.mouse.down();
  await page.mouse.move(xOf(PEAK + 60_000), box.y + 50, { steps: 5 });
  await page.mouse.up();
  const zoomed = await part;
  expect([zoomed.from < PEAK, zoomed.to > PEAK, zoomed.to - zoomed.from < 200_000]).toEqual([
    true,
    true,
    true,
  ]);
  expectExact(zoomed);
});
