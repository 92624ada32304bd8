import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type BrowserContext } from 'playwright-core';
import { pathOfProgram, provideDebianPackages } from './debian-packages.js';

const FLAGS = [
  '--headless=new',
  '--no-sandbox',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // WebGL and WebGPU without a GPU.
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
  // Pages in the background train as fast as the one in front.
  '--disable-background-timer-throttling',
  '--disable-renderer-backgrounding',
];

/** A Chromium with files of its own. */
export interface TestBrowser extends AsyncDisposable {
  readonly context: BrowserContext;
}

/** Starts Chromium, which is installed if it is missing. It has no window. */
export async function startChromium(): Promise<TestBrowser> {
  provideDebianPackages({ chromium: 'chromium' }, 'Tests in a browser');
  const profile = await mkdtemp(join(tmpdir(), 'acc-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: pathOfProgram('chromium')!,
    // The flags choose the headless mode that renders as with a window.
    headless: false,
    args: FLAGS,
    viewport: { width: 1200, height: 900 },
  });
  context.setDefaultTimeout(240_000);
  return {
    context,
    async [Symbol.asyncDispose]() {
      await context.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
