import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CodeCache } from './code-cache.js';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'acc-code-cache-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const path = () => join(folder, 'code.bin');
const LONG_AGO = new Date(0);
/** Whether the file was written since the last call. */
function isWritten(): boolean {
  const { mtimeMs } = statSync(path());
  utimesSync(path(), LONG_AGO, LONG_AGO);
  return mtimeMs !== LONG_AGO.getTime();
}
const entries = (): { name: string; version: string }[] => {
  const content = readFileSync(path());
  const head = JSON.parse(content.subarray(64, content.indexOf('\n')).toString()) as {
    entries: { name: string; version: string }[];
  };
  return head.entries.map(({ name, version }) => ({ name, version }));
};

/** One process: it compiles files of these versions, calls them, and records. */
function useOnce(versions: Readonly<Record<string, string>>): unknown[] {
  const cache = new CodeCache(path());
  const results = Object.entries(versions).map(([name, version]) =>
    cache.compile({ name: join(folder, name), version }, `return '${name} ' + ${version} + a;`, 'a')(7),
  );
  cache.record();
  return results;
}

it('keeps the code of three processes, and then writes nothing', () => {
  const written = Array.from({ length: 5 }, () => {
    expect(useOnce({ 'a.js': '1' })).toEqual(['a.js 17']);
    return isWritten();
  });
  expect(written).toEqual([true, true, true, false, false]);
});

it('compiles a file of another version again, and keeps files that a process did not load', () => {
  useOnce({ 'a.js': '1', 'b.js': '1' });
  // V8 itself compares only the length of a source.
  expect(useOnce({ 'a.js': '2' })).toEqual(['a.js 27']);
  expect(entries()).toEqual([
    { name: join(folder, 'a.js'), version: '2' },
    { name: join(folder, 'b.js'), version: '1' },
  ]);
  expect(useOnce({ 'b.js': '1', 'c.js': '1' })).toEqual(['b.js 17', 'c.js 17']);
  expect(entries()).toHaveLength(3);
});

it('reports errors of a source, and errors in it by the places in the file', () => {
  const cache = new CodeCache(path());
  const source = { name: join(folder, 'a.js'), version: '1' };
  expect(() => cache.compile(source, 'return (', 'a')).toThrow(SyntaxError);
  const fail = cache.compile(source, 'throw new Error("x");', 'a');
  expect(fail).toThrow(expect.objectContaining({ stack: expect.stringContaining(`${source.name}:1:7`) }));
});
