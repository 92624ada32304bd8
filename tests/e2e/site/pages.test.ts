import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type TestBrowser } from '../../chromium.js';
import { root, serveSite, type Site } from './site.js';

/** The pages that are written for the site, by their path without an ending. */
const WRITTEN = readdirSync(join(root, 'site', 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.md'))
  .map((path) => path.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '.html'));
/** Some of those that are made from other documents and from the types. */
const MADE = [
  'api/index.html',
  'api/core/accelerator.html',
  'packages/fsdp.html',
  'project/architecture.html',
];

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1440, height: 900 };

let site: Site;
let browser: TestBrowser;
let page: Page;
/** Errors of pages, and requests for what the site itself does not have. */
let wrong: string[] = [];

// It builds the site. The first run on a machine installs Chromium.
beforeAll(async () => {
  site = await serveSite();
  browser = await startChromium();
  page = await browser.context.newPage();
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) wrong.push(`${page.url()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => wrong.push(`${page.url()}: uncaught: ${error.message}`));
  page.on('request', (request) => {
    const isOwn = request.url().startsWith(site.url) || request.url().startsWith('data:');
    if (!isOwn) wrong.push(`${page.url()} asks for ${request.url()}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) wrong.push(`${response.url()}: ${response.status()}`);
  });
}, 600_000);

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await site?.[Symbol.asyncDispose]();
});

afterEach(() => {
  const found = wrong;
  wrong = [];
  expect(found).toEqual([]);
});

/** By how many pixels a page can be scrolled sideways. */
const tooWide = () =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** The first lines of code blocks that are wider than their boxes. Output of programs may be. */
const cutCode = () =>
  page.evaluate(() =>
    Array.from(document.querySelectorAll('div[class*="language-"]:not(.language-text) pre'))
      .filter((pre) => pre.scrollWidth > pre.clientWidth)
      .map((pre) => pre.textContent!.trim().split('\n')[0]),
  );

/** Opens pages, and gives those that are wider than the window, and the code that is cut. */
async function wideAmong(paths: readonly string[]): Promise<string[]> {
  const wide: string[] = [];
  for (const path of paths) {
    await page.goto(site.url + path);
    const pixels = await tooWide();
    if (pixels > 0) wide.push(`${path}: ${pixels}`);
    wide.push(...(await cutCode()).map((line) => `${path}: ${line}`));
  }
  return wide;
}

/** Opens the search without the words of the last one, whose results the page would show first. */
async function openSearch(): Promise<void> {
  await page.goto(`${site.url}start.html`);
  await page.evaluate(() => sessionStorage.clear());
  await page.locator('.VPNavBarSearch button').first().click();
}

/** Searches a word, and waits until the first result leads there. The page shows results while it loads more. */
async function findFirst(word: string, place: RegExp): Promise<void> {
  await openSearch();
  await page.locator('.VPLocalSearchBox input').fill(word);
  const first = page.locator('.VPLocalSearchBox .result').first();
  await expect.poll(() => first.getAttribute('href')).toMatch(place);
}

describe('the site', () => {
  it('fits a phone: no page scrolls sideways, and no code is cut', async () => {
    await page.setViewportSize(PHONE);
    expect(WRITTEN.length).toBeGreaterThan(30);
    expect(await wideAmong([...WRITTEN, ...MADE])).toEqual([]);
  });

  it('fits a wide window', async () => {
    await page.setViewportSize(DESKTOP);
    const some = ['', 'start.html', 'concepts/zero.html', 'performance.html', 'errors/', ...MADE];
    expect(await wideAmong(some)).toEqual([]);
  });

  it('leads from the home page to the guide, on a wide window and on a phone', async () => {
    await page.setViewportSize(DESKTOP);
    await page.goto(site.url);
    await page.locator('.VPNavBarMenu').getByRole('link', { name: 'Guide' }).click();
    await page.waitForURL('**/guide/data.html');
    await page
      .locator('.VPSidebar')
      .getByRole('link', { name: 'Checkpoints and resuming', exact: true })
      .click();
    await page.waitForURL('**/guide/checkpoints.html');
    await page.locator('h1', { hasText: 'Checkpoints' }).waitFor();

    await page.setViewportSize(PHONE);
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.locator('.VPSidebar').getByRole('link', { name: 'Trackers', exact: true }).first().click();
    await page.waitForURL('**/guide/trackers.html');
    await page.locator('h1', { hasText: 'Trackers' }).waitFor();
  });

  it.each([
    ['a phone', PHONE],
    ['a wide window', DESKTOP],
  ])('finds an error code by its search on %s', async (_, size) => {
    await page.setViewportSize(size);
    await openSearch();
    await page.locator('.VPLocalSearchBox input').fill('ACC_PEER_LOST');
    await page.locator('.VPLocalSearchBox .result').first().waitFor();
    const hit = page.locator('.VPLocalSearchBox .result[href$="#acc_peer_lost"]').first();
    await hit.click();
    await page.waitForURL('**/errors/collectives.html#acc_peer_lost');
    expect(await page.locator('[id="acc_peer_lost"]').textContent()).toContain('ACC_PEER_LOST');
  });

  it.each([
    ['checkpoint', /^\/guide\/checkpoints/],
    ['resume', /^\/(guide\/checkpoints|learn\/)/],
    ['gpu', /^\/(support|learn\/faq)/],
    ['windows', /^\/support/],
    ['gan', /^\/(guide|learn)\//],
    ['out of memory', /#acc_out_of_memory$/],
  ])('finds a guide for "%s" before the API', async (word, guide) => {
    await page.setViewportSize(DESKTOP);
    await findFirst(word, guide);
  });

  it.each([
    ['setSeed', '/api/core/training-steps.html#setseed'],
    ['clipGradNorm', '/api/core/accelerator.html#clipgradnorm'],
    ['isMainProcess', '/api/core/accelerator.html#property-ismainprocess'],
    ['splitBatches', '/api/core/options.html#property-splitbatches'],
  ])('finds the API of %s first, and rows have an excerpt', async (name, place) => {
    await page.setViewportSize(DESKTOP);
    await findFirst(name, new RegExp(`${place}$`));
    // The excerpts come after the results.
    await page
      .locator('.VPLocalSearchBox .excerpt', { hasText: name })
      .first()
      .waitFor({ state: 'attached' });
  });

  it('lists the members of the Accelerator by use, create and prepare first, on a page of its own', async () => {
    await page.goto(`${site.url}api/core/accelerator.html`);
    const members = await page.locator('.vp-doc td:first-child a').allTextContents();
    expect(members.slice(0, 2)).toEqual(['create', 'prepare']);
    expect(members.length).toBeGreaterThan(50);
    await page.locator('.vp-doc td a', { hasText: /^accumulate$/ }).click();
    await page.waitForURL('**/accelerator.html#accumulate');
    expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThan(40_000);
  });

  it('shows figures whose text can be read, light and dark', async () => {
    await page.setViewportSize(DESKTOP);
    for (const isDark of [false, true]) {
      await page.goto(`${site.url}concepts/zero.html`);
      await page.evaluate((dark) => document.documentElement.classList.toggle('dark', dark), isDark);
      const contrasts = await page.evaluate(contrastsOfFigures);
      expect(contrasts.length).toBeGreaterThan(0);
      expect(contrasts.filter((contrast) => contrast < 4.5)).toEqual([]);
    }
  });
});

/** The contrast (WCAG 2) of the text of figures with each colour that it may stand on. In the page. */
function contrastsOfFigures(): number[] {
  const channels = (color: string) => (color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
  const luminance = (color: string) => {
    const [r, g, b] = channels(color).map((value) => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  };
  const contrast = (a: string, b: string) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high! + 0.05) / (low! + 0.05);
  };
  const body = getComputedStyle(document.body).backgroundColor;
  const boxes = Array.from(document.querySelectorAll('.drawn rect'), (rect) => getComputedStyle(rect).fill);
  const grounds = [...new Set([body, ...boxes.filter((fill) => fill !== 'none')])];
  return Array.from(document.querySelectorAll('.drawn text')).flatMap((text) => {
    const { fill } = getComputedStyle(text);
    // Muted text never stands in a box.
    const under = text.classList.contains('fig-muted') ? [body] : grounds;
    return under.map((ground) => contrast(fill, ground));
  });
}
