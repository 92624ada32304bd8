import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type BrowserContext } from 'playwright-core';
import { provideDebianPackages } from '../../debian-packages.js';

/** Nothing that Chromium does by itself: no updates, no requests, no first-run pages. */
const QUIET = [
  '--headless=new',
  '--no-sandbox',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Pages in the background train as fast as the one in front.
  '--disable-background-timer-throttling',
  '--disable-renderer-backgrounding',
];

/** Starts Debian's Chromium with a profile of its own. `stop` ends it and deletes the profile. */
export async function startChromium(): Promise<{ context: BrowserContext; stop: () => Promise<void> }> {
  provideDebianPackages({ chromium: 'chromium' }, 'Tests in a browser');
  const profile = await mkdtemp(join(tmpdir(), 'acc-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: '/usr/bin/chromium',
    args: QUIET,
  });
  return {
    context,
    stop: async () => {
      await context.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
