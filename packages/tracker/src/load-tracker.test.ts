import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { loadTracker, makeTracker } from './load-tracker.js';
import { newFolder } from './testing/bus.js';

afterEach(() => vi.restoreAllMocks());

/** An installed package, in the node_modules of a program elsewhere. */
function install(name: string, source: string): void {
  const program = newFolder();
  const folder = join(program, 'node_modules', name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name, type: 'module', exports: './index.js' }),
  );
  writeFileSync(join(folder, 'index.js'), source);
  vi.spyOn(process, 'cwd').mockReturnValue(program);
}

it('finds an installed package, and passes the options to it', async () => {
  install(
    'acc-tracker-here',
    'export default (options) => ({ name: options.as, async start() {}, log() {}, async finish() {} });',
  );
  const { tracker, make } = makeTracker(await loadTracker('acc-tracker-here'), { as: 'mine' });
  expect([tracker.name, make!().name, make!() === tracker]).toEqual(['mine', 'mine', false]);
});

it('names a missing package without a command that would install whatever has that name', async () => {
  const error = await loadTracker('acc-tracker-nowhere').catch((caught: unknown) => caught);
  expect(error).toMatchObject({
    code: 'ACC_TRACKER_MISSING',
    help: expect.not.stringContaining('npm') as unknown,
  });
});

it('distinguishes a missing package from one whose own dependency is missing', async () => {
  install('acc-tracker-broken', "import 'acc-tracker-inner';");
  await expect(loadTracker('acc-tracker-broken')).rejects.toThrow('acc-tracker-inner');
});

it('refuses a package without a tracker', async () => {
  install('acc-tracker-empty', 'export const x = 1;');
  await expect(loadTracker('acc-tracker-empty')).rejects.toMatchObject({ code: 'ACC_TRACKER_INVALID' });
});
