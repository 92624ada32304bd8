import { pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { expect, it } from 'vitest';
import { unitsOf } from '../source/units.js';
import { lineStartsOf, mappedScript, type Source } from './positions.js';

const TEXT = `interface Given { readonly by: number }
export class Counter {
  readonly #by: number;
  constructor({ by }: Given) {
    this.#by = by;
  }
  count<T extends number>(from: T): number[] {
    return [from, from].map((each): number => each + this.#by);
  }
}
export async function later(work: () => Promise<void>): Promise<void> {
  await work();
}
const each = <T>(value: T): T => value;
`;
const PATH = '/tree/counter.ts';
const source: Source = {
  path: PATH,
  lineStarts: lineStartsOf(TEXT),
  functions: unitsOf(PATH, TEXT).functions,
};
const sourceOf = (path: string): Source | undefined => (path === PATH ? source : undefined);

/** The names of the functions that V8 may mean by those at these texts. */
const namesAt = (script: string, offsets: readonly number[]) => {
  const mapped = mappedScript(script, pathToFileURL('/tree/counter.js').href, () => undefined)!;
  expect(mapped.sources).toEqual([PATH]);
  return offsets.map((offset) => mapped.functionsAt(offset, sourceOf).map(([, { name }]) => name));
};

it('functions of a script are found in its source', () => {
  const { code } = transformSync(TEXT, { loader: 'ts', sourcemap: 'inline', sourcefile: PATH });
  const starts = ['class Counter', 'constructor', 'count(', '(each2)', 'async function', '(value)'];
  const found = namesAt(
    code,
    starts.map((start) => code.search(start.replaceAll(/[()]/g, '\\$&').replace('each2', 'each\\w*'))),
  );
  expect(found).toEqual([
    ['Counter'],
    ['Counter.constructor'],
    ['Counter.count'],
    ['Counter.count.(given to map)'],
    ['later'],
    ['each'],
  ]);
});

it("vitest's wrapper on the first line is left out", () => {
  const { code } = transformSync(TEXT.replaceAll('\n', ' '), {
    loader: 'ts',
    sourcemap: 'inline',
    sourcefile: PATH,
    minifyWhitespace: true,
  });
  const oneLine = TEXT.replaceAll('\n', ' ');
  const one = { path: PATH, lineStarts: [0], functions: unitsOf(PATH, oneLine).functions };
  const script = `'use strict';async (module,exports)=>{{${code}\n}}`;
  const mapped = mappedScript(script, pathToFileURL('/tree/counter.js').href, () => undefined)!;
  const [found] = mapped.functionsAt(script.indexOf('async function'), () => one);
  expect(found![1].name).toBe('later');
});

it('an arrow function without a mapping is the one between the mappings around it', () => {
  // Mapped are `call` and `value` of `call((value) => …)`, as some compilers do.
  const text = 'call((value) => value);\n';
  const json = JSON.stringify({ version: 3, sources: [PATH], mappings: 'AAAA,KAAM' });
  const script = `${text}//# sourceMappingURL=data:application/json;base64,${Buffer.from(json).toString('base64')}`;
  const own = { path: PATH, lineStarts: [0], functions: unitsOf(PATH, text).functions };
  const mapped = mappedScript(script, pathToFileURL('/tree/counter.js').href, () => undefined)!;
  expect(mapped.functionsAt(5, () => own).map(([, { name }]) => name)).toEqual(['(given to call)']);
});

it('a source map may stand beside the script', () => {
  const { code, map } = transformSync(TEXT, { loader: 'ts', sourcemap: 'external', sourcefile: PATH });
  const script = `${code}//# sourceMappingURL=counter.js.map\n`;
  const asked: string[] = [];
  const mapped = mappedScript(script, 'file:///tree/counter.js', (url) => {
    asked.push(url);
    return map;
  });
  expect(mapped!.functionsAt(code.indexOf('count('), sourceOf)[0]![1].name).toBe('Counter.count');
  expect(asked).toEqual(['file:///tree/counter.js.map']);
  expect(mappedScript(code, 'file:///tree/counter.js', () => map)).toBeUndefined();
});

it('a source that a bundler made has no functions of ours', () => {
  const map = { version: 3, sources: ['virtual:words', 'counter.ts'], mappings: 'AAAA,SCAA' };
  const url = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
  const script = `f = () => 1; g = () => 2;\n//# sourceMappingURL=${url}`;
  const mapped = mappedScript(script, pathToFileURL('/tree/counter.js').href, () => undefined)!;
  expect(mapped.sources).toEqual([PATH]);
  expect(mapped.functionsAt(0, sourceOf)).toEqual([]);
});
