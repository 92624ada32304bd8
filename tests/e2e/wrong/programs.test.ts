import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, inject, it } from 'vitest';
import { ACC, forEach, newFolder, runNode, type Ended } from './run-wrong.js';
import { PROGRAMS } from './programs.js';
import { WRONG_INSTALLATIONS } from './wrong-installations.js';
import { GUILTY, IMPORTS, type WrongProgram } from './wrong-program.js';

/** A terminal has so many lines that a reader sees without scrolling. */
const MOST_LINES = 25;

const nameOf = ({ name, ranks }: WrongProgram): string =>
  `${ranks === 1 ? 'alone' : 'on two ranks'}: ${name}`;

const chosen = [...PROGRAMS, ...WRONG_INSTALLATIONS].filter(
  ({ isLate = false }) => inject('isRelease') || !isLate,
);

let ended: ReadonlyMap<string, Ended>;
beforeAll(async () => {
  const results = await forEach(chosen, run);
  ended = new Map(chosen.map((program, i) => [nameOf(program), results[i]!]));
});

async function run({ ranks, source, files = {}, env }: WrongProgram): Promise<Ended> {
  const cwd = newFolder();
  for (const [name, text] of Object.entries({ ...files, 'program.mjs': `${IMPORTS}${source}\n` })) {
    writeFileSync(join(cwd, name), text);
  }
  const args = ranks === 1 ? ['program.mjs'] : [ACC, 'launch', '-n', String(ranks), 'program.mjs'];
  const result = await runNode(args, { cwd, ...(env && { env }) });
  rmSync(cwd, { recursive: true });
  return result;
}

it('there are at least 40, and half of them run on two ranks', () => {
  expect(ended.size).toBe(chosen.length);
  expect(PROGRAMS.length).toBeGreaterThanOrEqual(40);
  expect(PROGRAMS.filter(({ ranks }) => ranks === 2).length).toBeGreaterThanOrEqual(20);
});

it.each(chosen.map((program) => [nameOf(program), program] as const))('%s', (name, program) => {
  const { code, lines } = ended.get(name)!;
  const output = lines.join('\n');
  const { says, never = [], exitCode = 1 } = program;
  expect(code, output).toBe(exitCode);
  expect(lines.length, output).toBeLessThanOrEqual(MOST_LINES);
  for (const part of says) expect(output).toContain(part);
  for (const part of ['Node.js v', '/node_modules/', '[cause]', ...never]) expect(output).not.toContain(part);
  const { code: ours } = program;
  if (ours) {
    // Once, apart from a line for another rank, with a next step and nothing below it.
    const headers = lines.filter(
      (line) => line.includes(`AccError [${ours}]`) && !line.includes('failed, too'),
    );
    expect(headers, output).toHaveLength(1);
    const error = lines.slice(lines.indexOf(headers[0]!));
    expect(
      error.some((line) => line.trim().startsWith('→ ')),
      output,
    ).toBe(true);
  }
  const guilty = `${IMPORTS}${program.source}`
    .split('\n')
    .flatMap((line, i) => (line.endsWith(GUILTY) ? [i + 1] : []));
  if (guilty.length === 0) return;
  const last = lines.findLastIndex((line) =>
    guilty.some((number) => new RegExp(`program\\.mjs:${number}(?!\\d)`).test(line)),
  );
  expect(last, output).toBeGreaterThanOrEqual(Math.max(0, lines.length - 12));
});
