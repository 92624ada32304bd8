import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, modelFiles } from '@acc/core';
import { storageCases } from '@acc/testkit';
import type { Download, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type TestBrowser } from '../../chromium.js';
import type { calls } from './page/main.js';
import { prepareTraining, train, type Trained } from './page/training.js';
import { serve, type Site } from './site.js';
import { unzip } from './unzip.js';

type Calls = typeof calls;

let site: Site;
let browser: TestBrowser;
let page: Page;
let folder: string;
/** The messages of the page to the console. */
let said: string[] = [];

// The first run on a machine installs Chromium.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-browser-'));
  site = await serve(join(import.meta.dirname, 'page'));
  browser = await startChromium();
  page = await browser.context.newPage();
  page.on('console', (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => said.push(`uncaught: ${error.message}`));
  await open();
}, 600_000);

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await site?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

afterEach(() => void (said = []));

async function open(): Promise<void> {
  await page.goto(site.url);
  await page.waitForFunction(() => 'calls' in globalThis);
}

/** Calls a function of the page, and gives what it returns. */
function call<Name extends keyof Calls>(
  name: Name,
  ...args: Parameters<Calls[Name]>
): Promise<Awaited<ReturnType<Calls[Name]>>> {
  return page.evaluate(
    ([which, given]) =>
      (globalThis as never as Record<string, Record<string, (...all: never[]) => never>>)['calls']![which]!(
        ...given,
      ),
    [name, args as never[]] as const,
  );
}

/** Calls a function of the page that makes it offer a download. */
async function downloadBy(work: () => Promise<unknown>): Promise<{ name: string; path: string }> {
  const offered: Promise<Download> = page.waitForEvent('download');
  const [download] = await Promise.all([offered, work()]);
  const name = download.suggestedFilename();
  const path = join(folder, name);
  await download.saveAs(path);
  return { name, path };
}

/** Compares numbers relative to the largest one. */
function expectNear(actual: Trained, expected: Trained, tolerance: number): void {
  const flat = ({ losses, weights }: Trained) => [...losses, ...weights.flat()];
  const [given, wanted] = [flat(actual), flat(expected)];
  expect(given.length).toBe(wanted.length);
  const largest = Math.max(...wanted.map(Math.abs));
  const difference = Math.max(...given.map((value, i) => Math.abs(value - wanted[i]!)));
  expect(difference / largest).toBeLessThanOrEqual(tolerance);
}

const EPOCHS = 2;
let inNode: Trained;
beforeAll(async () => {
  await tf.setBackend('cpu');
  inNode = await train(EPOCHS, { engine: 'tfjs' });
});

describe('training with accumulation, clipping, a schedule and activation checkpoints', () => {
  /**
   * The same JavaScript computes on `cpu`, but Math.tanh and Math.cos are those of another V8. The
   * other backends add in another order, and their tanh is another approximation.
   */
  it.each([
    ['cpu', 1e-6],
    ['wasm', 1e-5],
    ['webgl', 1e-4],
    ['webgpu', 1e-4],
  ])('on %s gives the numbers of Node.js', async (backend, tolerance) => {
    const inPage = await call('train', backend, EPOCHS);
    expect(inPage.backend).toBe(backend);
    expectNear(inPage, inNode, tolerance);
    expect(inPage.leaked).toBe(0);
    expect(said.filter((line) => /^(error|uncaught)/.test(line))).toEqual([]);
  });
});

describe.each(['opfs', 'indexeddb'] as const)('the storage %s', (kind) => {
  it('passes the cases of a storage', async () => {
    const outcomes = await call('storage', kind);
    expect(outcomes).toEqual(Object.fromEntries(storageCases.map(({ name }) => [name, 'passed'])));
  });
});

describe.each(['opfs://runs/kept', 'indexeddb://kept', 'plain folder', './beside'])('a run in %s', (dir) => {
  it('goes on after the page was loaded again, as if it had not ended', async () => {
    const saved = await call('trainAndSave', dir);
    await open();
    const resumed = await call('trainOn', dir, 1);
    expect(resumed.path).toBe(saved.at(-1));
    const whole = await train(4, { engine: 'tfjs' });
    const rest = { ...whole, losses: whole.losses.slice(-resumed.losses.length) };
    expectNear(resumed, rest, 1e-6);
    expect(resumed.losses).toHaveLength(6);
    // keepLast: 2.
    expect(await call('codeOfDamaged', dir, saved[0]!)).toBe('ACC_CHECKPOINT_NOT_FOUND');
  });
});

it('a model that a page saves as a download gives the same predictions in Node.js', async () => {
  let predicted: number[] = [];
  const { name, path } = await downloadBy(async () => void (predicted = await call('saveModel')));
  expect(name).toBe('digits.zip');
  const model = join(folder, 'digits');
  for (const [file, content] of Object.entries(await unzip(await readFile(path)))) {
    await mkdir(dirname(join(model, file)), { recursive: true });
    await writeFile(join(model, file), content);
  }
  const loaded = await tf.loadLayersModel(modelFiles(model));
  const again = await (loaded.predict(tf.ones([1, 5])) as tf.Tensor).data();
  expect(predicted).toHaveLength(3);
  predicted.forEach((value, i) => expect(again[i]).toBeCloseTo(value, 6));
});

describe('trackers', () => {
  const json = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('write JSONL and CSV into the files of the page, and lines to the console', async () => {
    const dir = await call('record', true);
    expect(dir).toMatch(/^\/runs of a page\/runs\/digits\//);
    const shown = said.filter((line) => line.startsWith('log: '));
    expect(shown).toEqual([
      'log: config {"lr":0.1}',
      'log: step 1  loss 0.5',
      'log: step 2  loss NaN  accuracy 0.25',
      'log: step 2  note: from a page',
    ]);
    await open();
    const lines = json(await call('text', `${dir}/metrics.jsonl`));
    expect(lines).toMatchObject([
      { _config: { lr: 0.1 } },
      { _step: 1, loss: 0.5 },
      { _step: 2, loss: 'NaN', accuracy: 0.25 },
      { _step: 2, _text: { note: 'from a page' } },
      { _step: 3, _image: { dot: { width: 1, height: 1 } } },
      { _status: 'completed' },
    ]);
    const csv = await call('text', `${dir}/metrics.csv`);
    expect(csv.replaceAll(/,\d{13}/g, ',T')).toBe('step,timeMs,loss,accuracy\n1,T,0.5,\n2,T,NaN,0.25\n');
    const { name, path } = await downloadBy(() => call('download', `${dir}/metrics.jsonl`));
    expect(name).toBe('metrics.jsonl');
    expect(json(await readFile(path, 'utf8'))).toEqual(lines);
    const whole = await downloadBy(() => call('download', dir));
    const files = Object.keys(await unzip(await readFile(whole.path)));
    expect(files.sort()).toEqual([
      'config.csv',
      'images/dot-3-4.png',
      'metrics.csv',
      'metrics.jsonl',
      'run.json',
    ]);
  });

  it('finish a run, as failed, whose page was closed before its end', async () => {
    const dir = await call('record', false);
    const table = () => call('text', `${dir}/metrics.csv`).catch(() => '');
    await expect.poll(table, { timeout: 240_000 }).toContain('\n2,');
    await open();
    await call('record', true);
    const record = JSON.parse(await call('text', `${dir}/run.json`)) as { status: string; unsent: string[] };
    expect(record).toMatchObject({ status: 'failed', unsent: [] });
    expect((await table()).replaceAll(/,\d{13}/g, ',T')).toBe(
      'step,timeMs,loss,accuracy\n1,T,0.5,\n2,T,NaN,0.25\n',
    );
    expect(said.filter((line) => line.includes('not loaded'))).toEqual([]);
  });

  it('write again what could not be written', async () => {
    const { code, text } = await call('writeAgain');
    expect(code).toBe('ACC_STORAGE_FULL');
    expect(json(text)).toMatchObject([{ _step: 1, loss: 1 }, { _status: 'completed' }]);
  });

  it('get the files of a model that the page saved', async () => {
    expect(await call('artifact')).toEqual({
      names: ['model.json', 'model.safetensors'],
      missing: 'ACC_ARTIFACT_MISSING',
    });
  });
});

it('a page that must not use its files says so', async () => {
  expect(await call('refusedFiles')).toEqual({ save: 'ACC_STORAGE_DENIED', track: 'no error' });
  expect(said.filter((line) => line.includes('no files of its own'))).toHaveLength(1);
});

it('fitDataset accumulates and validates as in Node.js', async () => {
  const { fitDataset, free } = await prepareTraining({ engine: 'tfjs' });
  const expected = await fitDataset();
  free();
  expect(expected).toHaveLength(4);
  const losses = await call('fitDataset');
  losses.forEach((loss, i) => expect(loss).toBeCloseTo(expected[i]!, 6));
});

it('fit accumulates as in Node.js and reports automatic figures, and a fit in its callback is refused', async () => {
  const { losses, second, figures } = await call('fit');
  const { fit, free } = await prepareTraining({ engine: 'tfjs' });
  const expected = await fit();
  free();
  expect(losses).toHaveLength(2);
  losses.forEach((loss, i) => expect(loss).toBeCloseTo(expected[i]!, 6));
  expect(second).toBe('ACC_FIT_UNDER_WAY');
  expect(figures).toEqual(expect.arrayContaining(['train/loss', 'train/grad_norm', 'time/step_ms']));
});

it('what needs several processes or native code is refused with a code', async () => {
  const refused = 'ACC_NOT_IN_BROWSER';
  expect(await call('refusals')).toEqual({
    "engine 'acc'": refused,
    "device 'cuda'": refused,
    collective: refused,
    'a mesh of two': 'ACC_INVALID_OPTION',
    deterministic: refused,
    'a hook of communication': refused,
    'offload to a folder': refused,
    'offload to the host': refused,
    preemption: refused,
    'mixed precision of 8 bits': 'ACC_PRECISION_UNSUPPORTED',
    'mixed precision of 16 bits': 'ACC_PRECISION_UNSUPPORTED',
    'an unknown option': 'ACC_UNKNOWN_OPTION',
    'a tracker by the name of its package': refused,
    'saving a run to a download': 'ACC_INVALID_ARGUMENT',
    'a download of nothing': 'ACC_STORAGE_NOT_FOUND',
    'a key outside of a storage': 'ACC_STORAGE_DENIED',
  });
});

it('the verbs of processes work in the one process of a page', async () => {
  expect(await call('alone')).toEqual({
    numProcesses: 1,
    processIndex: 0,
    isMainProcess: true,
    device: 'cpu',
    backendName: 'cpu',
    sum: [1, 2],
    objects: 1,
  });
});

it.each(['webgl', 'webgpu'])('a synchronous read on %s gives the values or an error', async (backend) => {
  expect(['no error', 'ACC_SYNC_READ']).toContain(await call('syncRead', backend));
});

it('the storages of a page are refused in Node.js', async () => {
  const accelerator = await Accelerator.create({ engine: 'tfjs' });
  await expect(accelerator.saveState('opfs://run')).rejects.toThrow(
    expect.objectContaining({ code: 'ACC_BROWSER_ONLY' }),
  );
  accelerator.freeMemory();
});

it('the MNIST example learns digits in a page', async () => {
  await using example = await serve(join(import.meta.dirname, '../../../examples/browser-mnist'));
  const tab = await browser.context.newPage();
  const errors: string[] = [];
  tab.on('pageerror', (error) => errors.push(error.message));
  tab.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await tab.goto(`${example.url}?backend=webgl&epochs=3&digits=1000`);
  await tab.locator('#train:enabled').click();
  await tab.locator('html[data-state=trained]').waitFor({ timeout: 240_000 });
  expect(await tab.locator('#line').textContent()).toMatch(/^Trained in [\d.]+ s on webgl\./);
  // Of ten classes. The same digits, weights and order in every run.
  expect(parseFloat((await tab.locator('#accuracy').textContent())!)).toBeGreaterThan(60);
  const drawn = await tab.locator('#curve').evaluate((canvas: HTMLCanvasElement) => {
    const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((_, i) => i % 4 === 3).filter((alpha) => alpha > 0).length;
  });
  expect(drawn).toBeGreaterThan(1_000);
  const offered = tab.waitForEvent('download');
  await tab.locator('#model').click();
  expect((await offered).suggestedFilename()).toBe('digits.zip');
  expect(errors).toEqual([]);
  // What went wrong is shown, and another backend can be chosen.
  await tab.goto(`${example.url}?epochs=none`);
  await tab.getByText('?epochs=none: expected a whole number from 1 to 100.').waitFor();
  await tab.goto(`${example.url}?digits=100`);
  await tab.locator('#train:enabled').waitFor();
  await tab.locator('#backend').evaluate((select: HTMLSelectElement) => select.add(new Option('none')));
  await tab.locator('#backend').selectOption('none');
  await tab.locator('#train').click();
  await tab.getByText("'none'").waitFor();
  await tab.locator('#train:enabled').waitFor();
  await tab.close();
});
