import { expect, it } from 'vitest';
import { COMM_HOOKS } from '@acc/contract';
import { HOOK_CASES } from '../e2e/comm-hooks/cases.js';
import { readText } from './reading/repository.js';

const names = Object.keys(COMM_HOOKS);

/** The part of a document below a heading of the second level. */
const below = (heading: string, path: string) =>
  readText(path).split(`## ${heading}\n`)[1]!.split('\n## ')[0]!;

/** The names of a document's code, as `topK`. */
const codeIn = (text: string) => Array.from(text.matchAll(/`(\w+)`/g), ([, name]) => name!);

const factoriesIn = (text: string) => [...new Set(text.match(/\b[a-z]\w*Hook\b(?=[ ,])/g))].sort();

it.each([
  ['Communication hooks', 'packages/ddp/README.md'],
  ['Less traffic', 'site/docs/concepts/data-parallel.md'],
])('communication hooks are named in the section "%s" of %s', (heading, path) => {
  const documented = codeIn(below(heading, path));
  const missing = names.filter((name) => !documented.includes(name));
  expect(missing, `the section "${heading}" of ${path} does not name these hooks of COMM_HOOKS`).toEqual([]);
});

it('communication hooks have a case in tests/e2e/comm-hooks/cases.ts', () => {
  const tested = Object.values(HOOK_CASES).map(({ hook }) => hook.kind as string);
  const missing = names.filter((name) => !tested.includes(name));
  expect(missing, 'HOOK_CASES has no case with these hooks of COMM_HOOKS').toEqual([]);
});

it.each(['packages/ddp/src/index.ts', 'packages/core/src/presets/strategy.ts', 'packages/core/src/index.ts'])(
  'the factories of communication hooks are exported by %s',
  (path) => {
    const imports = readText('packages/ddp/src/comm-hooks/named.ts').match(/^import \{.*\} from '\.\/.*$/gm)!;
    const factories = factoriesIn(imports.join('\n'));
    expect(factories.length).toBeGreaterThan(3);
    const exported = factoriesIn(
      readText(path)
        .match(/^export \{.*$/gm)!
        .join('\n'),
    );
    const missing = factories.filter((name) => !exported.includes(name));
    expect(missing, `${path} does not export these factories of hooks`).toEqual([]);
  },
);
