import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, it, onTestFinished } from 'vitest';

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));

it('a bundle names the nearest option where no package is installed', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'acc-bundle-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const contents =
    "import { checkKeys } from '@acc/contract';\ntry { checkKeys('o', { sed: 1 }, ['seed']); } catch (e) { console.log(e.message); }";
  // The last two have no `import.meta.url`.
  for (const format of ['esm', 'cjs', 'iife'] as const) {
    const outfile = join(folder, format === 'esm' ? 'bundle.mjs' : `${format}.cjs`);
    await build({
      stdin: { contents, resolveDir: PACKAGE },
      bundle: true,
      platform: 'node',
      format,
      logLevel: 'error',
      outfile,
    });
    const output = execFileSync(process.execPath, [outfile], { cwd: folder, encoding: 'utf8' });
    expect(output, format).toContain("Did you mean 'seed'?");
  }
});

it('the built package loads no other package for it at its start', () => {
  const dist = join(PACKAGE, 'dist');
  const built = readdirSync(dist).filter((name) => name.endsWith('.js'));
  const loading = built.filter((name) =>
    /(from |import |require\w*\()\s*['"]fastest-levenshtein/.test(readFileSync(join(dist, name), 'utf8')),
  );
  expect(loading).toEqual([]);
  expect(built).toContain('index.js');
});

it('the source map of the built package names no file outside of the package', () => {
  const { sources } = JSON.parse(readFileSync(join(PACKAGE, 'dist', 'index.js.map'), 'utf8')) as {
    sources: string[];
  };
  const others = sources.filter((source) => !source.startsWith('../src/'));
  expect(others).toEqual(['virtual:fastest-levenshtein']);
  expect(sources.length).toBeGreaterThan(10);
});
