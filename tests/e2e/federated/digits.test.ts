import * as tf from '@tensorflow/tfjs';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { startCoordinator, type Coordinator } from '@acc/federated';
import { registerAccBackend } from '@acc/kernels';
import { startChromium } from '../../chromium.js';
import { accuracyOf, createModel, PLAN, toTensors, trainDigits, type DigitTensors } from './digits.js';
import { bundle, servePage } from './pages.js';
import { startProgram } from './programs.js';
import { readDigits } from './read-digits.js';

const SEED = 1;
/** Digits of each class for training. */
const COUNT = 300;
const ALL = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
/** No client sees a digit that another one sees. */
const CLASSES = { 'page-a': [0, 1, 2], 'page-b': [3, 4, 5], process: [6, 7, 8, 9] };
const BACKENDS = { 'page-a': 'cpu', 'page-b': 'webgl' };

beforeAll(async () => {
  registerAccBackend({ device: 'cpu' });
  await tf.setBackend('acc');
});

it('the client alone is small in a page, and needs no configuration of the bundler', async () => {
  const script = await bundle('digits-page.ts', ['@tensorflow/*']);
  expect(gzipSync(script).length).toBeLessThan(45_000);
});

/** Opens both pages, which join and train by themselves. */
async function openPages(origin: string, coordinator: Coordinator): Promise<Page[]> {
  const browser = await startChromium();
  onTestFinished(() => browser[Symbol.asyncDispose]());
  const opened: Page[] = [];
  for (const [i, name] of (['page-a', 'page-b'] as const).entries()) {
    const page = await browser.context.newPage();
    const { url, token } = coordinator;
    const query = {
      url,
      token,
      name,
      classes: CLASSES[name].join(),
      seed: String(i),
      backend: BACKENDS[name],
    };
    await page.goto(`${origin}/?${new URLSearchParams(query).toString()}`);
    opened.push(page);
  }
  return opened;
}

/** Rejects with the titles of the pages, which have the error, when one of them fails. */
async function failureOf(opened: readonly Page[]): Promise<never> {
  const failed = "document.title.startsWith('failed')";
  await Promise.race(opened.map((page) => page.waitForFunction(failed, undefined, { timeout: 0 })));
  throw new Error((await Promise.all(opened.map((page) => page.title()))).join('\n'));
}

/** The accuracy of one program that trains on all digits, with as many steps on as many digits. */
function centralAccuracy(heldBack: DigitTensors): number {
  const central = createModel(tf, SEED);
  const data = toTensors(tf, readDigits(ALL, 0, COUNT));
  const { rounds, localSteps, batchSize } = PLAN;
  const pass = { steps: localSteps, batchSize: 3 * batchSize, seed: SEED };
  for (let round = 0; round < rounds; round++) trainDigits(tf, central, data, { round, ...pass });
  return accuracyOf(tf, central, heldBack);
}

it('two pages and a process, with different digits each, learn as much as one program with all of them', async () => {
  const heldBack = toTensors(tf, readDigits(ALL, 600, 800));
  const model = createModel(tf, SEED);
  const pages = await servePage(await bundle('digits-page.ts'), COUNT);
  onTestFinished(() => pages.close());
  const losses: number[] = [];
  const coordinator = await startCoordinator({
    ...{ model, rounds: PLAN.rounds, minClients: 3, origins: [pages.origin], seed: SEED },
    onRound: ({ metrics }) => void losses.push(metrics['loss']!),
  });
  onTestFinished(() => coordinator.close());
  const opened = await openPages(pages.origin, coordinator);
  const { url, token } = coordinator;
  const process = await startProgram('digits-process.ts', [
    url,
    token,
    CLASSES.process.join(),
    '2',
    String(COUNT),
  ]);

  const failed = failureOf(opened);
  // It never settles in a good run, and is rejected when the browser stops.
  failed.catch(() => {});
  await Promise.race([coordinator.done, failed]);
  const federated = accuracyOf(tf, model, heldBack);

  const alone = centralAccuracy(heldBack);
  console.log(`accuracy: federated ${federated.toFixed(4)}, central ${alone.toFixed(4)}`);
  expect(alone).toBeGreaterThan(0.88);
  expect(federated).toBeGreaterThan(alone - 0.01);
  expect(losses).toHaveLength(PLAN.rounds);

  // Every client ends with the coordinator's weights.
  const sum = model.getWeights().reduce((total, weight) => total + weight.sum().dataSync()[0]!, 0);
  for (const [i, page] of opened.entries()) {
    const backend = Object.values(BACKENDS)[i];
    const result = JSON.parse(await page.title()) as object;
    expect(result).toMatchObject({ status: 'completed', accepted: PLAN.rounds, backend });
    expect((result as { sum: number }).sum).toBeCloseTo(sum, 2);
  }
  const [line] = await process.line(/^\{.*\}$/);
  expect(JSON.parse(line)).toEqual({ status: 'completed', accepted: PLAN.rounds, backend: 'acc' });
  expect(await process.ended).toBe(0);
});
