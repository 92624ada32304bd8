import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runAcc } from '../../fixtures/run-acc.js';
import { failedByTopLevelAwait, TOP_LEVEL_AWAIT_HELP } from './top-level-await.js';

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'acc-await-'))));
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

const TYPED = 'const seconds: number = 1;\nawait Promise.resolve(seconds);\nconsole.log("done");\n';

describe('top-level await in TypeScript', () => {
  it.each([1, 2])('in a CommonJS package is explained, with %i ranks', async (ranks) => {
    write('package.json', '{}');
    const args = ['launch', '-n', String(ranks), write('train.ts', TYPED)];
    const run = await runAcc(args, { cwd: folder });
    expect(run.code).toBe(1);
    expect(run.stderr.trimEnd().split('\n').at(-1)).toBe(TOP_LEVEL_AWAIT_HELP);
  });

  it('works after either of the suggested changes', async () => {
    write('package.json', '{}');
    const renamed = await runAcc(['launch', write('train.mts', TYPED)], { cwd: folder });
    expect(renamed).toMatchObject({ code: 0, stdout: 'done\n' });
    write('package.json', '{ "type": "module" }');
    const asModule = await runAcc(['launch', write('train.ts', TYPED)], { cwd: folder });
    expect(asModule).toMatchObject({ code: 0, stdout: 'done\n' });
  });
});

describe('a script whose stderr is not read', () => {
  const isBlamed = (name: string, text: string) => failedByTopLevelAwait(join(folder, write(name, text)), []);

  it.each([
    'await run();',
    'for await (const row of rows) use(row);',
    'const model: Model = await load();',
    'export const { a, b } = await load();',
  ])('is blamed for %s', (statement) => {
    write('package.json', '{}');
    expect(isBlamed('script.ts', `import x from 'y';\n${statement}\n`)).toBe(true);
    expect(isBlamed('script.mts', statement)).toBe(false);
    expect(isBlamed('script.js', statement)).toBe(false);
    write('package.json', '{ "type": "module" }');
    expect(isBlamed('script.ts', statement)).toBe(false);
    expect(isBlamed('script.cts', statement)).toBe(true);
  });

  it('is not blamed for awaits inside functions', () => {
    write('package.json', '{}');
    expect(isBlamed('script.ts', 'async function main() {\n  await run();\n}\nvoid main();\n')).toBe(false);
  });
});
