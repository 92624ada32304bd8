import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readText } from './reading/repository.js';

/** The public names of Accelerate, as Python's `inspect` and the parsers of its commands list them. */
interface Surface {
  readonly version: string;
  readonly commands: Readonly<Record<string, readonly string[]>>;
  readonly [part: string]: string | readonly string[] | Surface['commands'];
}

const surface = JSON.parse(
  readFileSync(join(import.meta.dirname, 'accelerate-names.json'), 'utf8'),
) as Surface;
const page = readText('site/docs/coming-from/accelerate.md');

/** The cells of each row of each table, without heads. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (-|Accelerate|`parallelism_config_…`)/.test(line))
  .map((line) =>
    line
      .replaceAll('\\|', '/')
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
const spans = (cell: string) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, span]) => span!);

it('the page for users of Accelerate has each of its public names', () => {
  const told = rows.flatMap(([theirs]) => spans(theirs!));
  const exact = new Set(told.flatMap((span) => [span, ...(span.match(/[A-Za-z_]\w*/g) ?? [])]));
  const patterns = told
    .filter((span) => span.includes('…') && !span.includes('('))
    .map((span) => new RegExp(`^${span.replace('…', '.*')}$`));
  const { version, commands, ...parts } = surface;
  const names = [
    ...Object.values(parts).flat(),
    ...Object.entries(commands).flatMap(([command, options]) => [command, ...options]),
  ] as string[];
  const missing = names.filter((name) => !exact.has(name) && !patterns.some((one) => one.test(name)));
  expect(missing).toEqual([]);
  expect(names.length).toBeGreaterThan(450);
  expect(page).toContain(`Accelerate ${version}`);
});

it('the names that the page gives for them exist', () => {
  const ours = new Set(
    ['public-names.txt', 'option-names.txt']
      .flatMap((file) => readText(`tests/architecture/${file}`).split('\n'))
      .map((line) => line.trim().replace(/^type /, ''))
      .flatMap((line) => [line, ...line.split(/[\s,]+/)]),
  );
  const members = readText('packages/core/src/accelerator.ts').matchAll(
    /^ {2}(?:get |static async |async )?(\w+)[<(]/gm,
  );
  for (const [, name] of members) ours.add(name!);
  const known = (span: string) => {
    if (/^(tf|model|optimizer)\.|^\{|^'/.test(span)) return true;
    const command = /^(?:npx acc|acc) ([a-z-]+)/.exec(span)?.[1];
    if (command) return ours.has(`acc ${command}`);
    if (span.startsWith('--')) return ours.has(span);
    const name = /^(?:await )?([\w.]+)/.exec(span)?.[1] ?? span;
    return [name, name.replace(/^Accelerator\./, ''), `acc ${span}`].some((one) => ours.has(one));
  };
  const unknown = rows.flatMap(([, here]) => spans(here!)).filter((span) => !known(span));
  expect(unknown).toEqual([]);
  // What is not there has a reason.
  expect(rows.filter(([, here, note]) => here === 'no' && !note)).toEqual([]);
  expect(rows.filter(([, here]) => here !== 'no' && spans(here!).length === 0)).toEqual([]);
});
