import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chooseMutants, partsOf } from './choose.js';
import { cppMutants } from './cpp-mutants.js';
import { applied, appliedAll, diffOf, type Mutant } from './mutant.js';
import { typescriptMutants } from './typescript-mutants.js';

/** The lines that the mutants of a text make from its only line, without spaces around. */
const variants = (mutants: readonly Mutant[], text: string) =>
  mutants.map((mutant) => applied(text, mutant).trim());
const ofTypeScript = (text: string) => variants(typescriptMutants('a.ts', text), text);
const ofCpp = (text: string) => variants(cppMutants('a.cpp', text), text);

describe('TypeScript', () => {
  it.each([
    ['const a = b + c;', ['const a = b - c;']],
    ['const a = -b;', ['const a = b;']],
    ['while (i < n) i++;', ['while (i <= n) i++;']],
    ['if (ready) go = 1;', ['if (!(ready)) go = 1;']],
    ['const a = !ready ? 1 : 2;', ['const a = ready ? 1 : 2;']],
    ['if (a === b) go = 1;', ['if (a !== b) go = 1;']],
    ['await file.close();', [';']],
    ['void run(1);', [';']],
  ])('%s', (text, expected) => {
    expect(ofTypeScript(text)).toEqual(expected);
  });

  it.each([
    'const text = `${a + b}`;',
    "const text = 'a' + b;",
    'throw new Error(a + b);',
    'const error = new AccError(a > b);',
    'console.log(a + b);',
    'function describeRank() { return a + b; }',
    'type A = -1;',
    "import { a } from './a.js';",
    'class A { constructor() { super(); } }',
  ])('has no mutant of a text, a type or an import: %s', (text) => {
    expect(ofTypeScript(text)).toEqual([]);
  });
});

describe('C++', () => {
  it.each([
    ['int f() { return a + b; }', ['int f() { return a - b; }']],
    ['for (int i = 0; i < n; ++i) {}', ['for (int i = 0; i <= n; ++i) {}']],
    ['if (ready) return;', ['if (!(ready)) return;']],
    ['if (a == b && c) x = 1;', ['if (a != b && c) x = 1;', 'if (a == b || c) x = 1;']],
    ['group->finish(a, b);', [';']],
    ['std::fill(begin, end);', [';']],
  ])('%s', (text, expected) => {
    expect(ofCpp(text)).toEqual(expected);
  });

  it.each([
    'std::vector<int> values(3);',
    'Widget widget(a);',
    'void take(Tensor&& x);',
    'throw std::runtime_error("a" + b);',
    'TORCH_CHECK(a == b, "differ");',
    '#define SUM(a, b) a + b\n',
    '// a + b\n',
    '/* if (a == b) */',
    'const char* text = "a + b";',
    'auto raw = R"x(a + b; run();)x";',
    'template <typename T> T add(T a);',
    'x = -1;',
  ])('has no mutant of a declaration, a text or a comment: %s', (text) => {
    expect(ofCpp(text)).toEqual([]);
  });
});

describe('seeds', () => {
  const root = mkdtempSync(join(tmpdir(), 'acc-mutants-'));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const lines = Array.from({ length: 30 }, (_, i) => `export const sum${i} = (a, b) => a + b + ${i};`);
  for (const name of ['a', 'b', 'c']) write(`packages/${name}/src/index.ts`, lines.join('\n'));
  write('packages/a/src/index.test.ts', lines.join('\n'));
  write('packages/a/src/testing/helper.ts', lines.join('\n'));
  write('packages/native/cpp/engine/a.cpp', 'int f() {\n  return a + b;\n}\n');
  const choose = (seed: number, count: number) => chooseMutants(root, partsOf(root), seed, count);

  it('choose the same mutants of the same sources', () => {
    expect(choose(7, 12)).toEqual(choose(7, 12));
    expect(choose(7, 12)).not.toEqual(choose(8, 12));
    // More mutants begin with the same.
    expect(choose(7, 12).slice(0, 6)).toEqual(choose(7, 6));
  });

  it('choose no tests and helpers, none twice, and C++', () => {
    const mutants = choose(7, 30);
    const places = mutants.map(({ path, start }) => `${path}:${start}`);
    expect(new Set(places).size).toBe(30);
    const files = [...new Set(mutants.map(({ path }) => path))].sort();
    expect(files).toEqual([
      ...['a', 'b', 'c'].map((name) => `packages/${name}/src/index.ts`),
      'packages/native/cpp/engine/a.cpp',
    ]);
  });

  it('choose fewer where there are fewer', () => {
    const [part] = partsOf(root).filter(({ name }) => name === 'packages/native/cpp');
    expect(chooseMutants(root, [part!], 1, 5)).toHaveLength(1);
  });
});

it('mutants are shown as a diff and applied together', () => {
  const text = 'one;\nconst a = b + c;\nif (a > 2) run();\n';
  const mutants = typescriptMutants('a.ts', text);
  expect(diffOf(text, mutants[0]!)).toBe('a.ts:2 (sign)\n-const a = b + c;\n+const a = b - c;');
  expect(appliedAll(text, mutants)).toBe('one;\nconst a = b - c;\nif (a >= 2) ;\n');
});
