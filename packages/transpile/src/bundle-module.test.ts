import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bundleModule } from './bundle-module.js';

let folder: string;
beforeEach(() => void (folder = realpathSync(mkdtempSync(join(tmpdir(), 'acc-bundle-')))));
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

async function exportsOf(text: string, conditions: readonly string[] = []): Promise<unknown> {
  const into = join(folder, `bundle-${conditions.length}.mjs`);
  await bundleModule(text, { into, conditions });
  return ((await import(pathToFileURL(into).href)) as { default: unknown }).default;
}

it('joins TypeScript modules, each with its own import.meta, which texts may name', async () => {
  const inner = write('a/inner.ts', 'export const at: string = import.meta.url + " by import.meta.url";');
  const main = write('main.ts', "export { at } from './a/inner.js';");
  const found = await exportsOf(`export { at as default } from ${JSON.stringify(main)};`);
  expect(found).toBe(`${pathToFileURL(inner).href} by import.meta.url`);
});

it('joins linked packages by the conditions, and imports installed ones from where they are', async () => {
  const manifest = {
    name: 'linked',
    type: 'module',
    exports: { source: './source.ts', default: './built.js' },
  };
  write('packages/linked/package.json', JSON.stringify(manifest));
  write(
    'packages/linked/source.ts',
    "import { n } from 'installed'; export const from: string = 'source ' + n;",
  );
  write('packages/linked/built.js', "import { n } from 'installed'; export const from = 'built ' + n;");
  write('node_modules/installed/package.json', '{ "name": "installed", "main": "index.cjs" }');
  write('node_modules/installed/index.cjs', 'exports.n = __filename.split("node_modules")[1];');
  symlinkSync(join(folder, 'packages/linked'), join(folder, 'node_modules/linked'));
  const text = "export { from as default } from 'linked';";
  expect(await exportsOf(text)).toBe('built /installed/index.cjs');
  expect(await exportsOf(text, ['source'])).toBe('source /installed/index.cjs');
});
