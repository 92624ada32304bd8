import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from './reading/repository.js';

const folder = join(root, '.github', 'workflows');
const workflows = readdirSync(folder).map(
  (name) => [name, readFileSync(join(folder, name), 'utf8')] as const,
);
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** The scripts of package.json that a text runs: `npm test`, `npm run name`. */
const scriptsIn = (text: string): string[] =>
  Array.from(text.matchAll(/\bnpm (?:run ([\w:-]+)|(test)\b)/g), ([, name, test]) => name ?? test!);

it('all workflows exist', () => {
  expect(workflows.map(([name]) => name).sort()).toEqual(['checks.yml', 'release.yml', 'site.yml']);
});

it.each(workflows)('%s runs scripts that package.json has', (name, text) => {
  const used = scriptsIn(text);
  expect(used).toContain(name === 'site.yml' ? 'site' : 'test');
  expect(used.filter((name) => !(name in scripts))).toEqual([]);
});

it('a release runs both test commands', () => {
  const [, text] = workflows.find(([name]) => name === 'release.yml')!;
  expect(scriptsIn(text)).toEqual(expect.arrayContaining(['test', 'test:release', 'release']));
});

it.each(workflows)('%s uses actions by their major version', (_, text) => {
  const actions = Array.from(text.matchAll(/\buses: (\S+)/g), ([, action]) => action!);
  expect(actions.length).toBeGreaterThan(1);
  expect(actions.filter((action) => !/^[\w-]+\/[\w-]+@v\d+$/.test(action))).toEqual([]);
});
