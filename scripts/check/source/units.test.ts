import { describe, expect, it } from 'vitest';
import { keyOf, unitsOf } from './units.js';

const TEXT = `
import { add, type Sum } from './add.js';
export const LIMIT = 3;
export class Counter extends Base {
  #count = 0;
  /** Counts. */
  count(by: number): number {
    return [by].map((each) => each + LIMIT)[0]!;
  }
  get total() { return this.#count; }
}
export const double = (x: number) => add(x, x);
register(double);
`;
const keys = (text: string) => unitsOf('a.ts', text).functions.map(keyOf);
const changedBy = (from: string, to: string) => {
  const now = new Set(keys(TEXT.replace(from, to)));
  return keys(TEXT)
    .filter((key) => !now.has(key))
    .map((key) => key.slice(0, key.lastIndexOf(' ')));
};

describe('functions', () => {
  it('have the names of what is around them', () => {
    const names = unitsOf('a.ts', TEXT).functions.map(({ name }) => name);
    const inCounter = ['Counter.count', 'Counter.count.(given to map)', 'Counter.get total'];
    expect(names).toEqual(['Counter', ...inCounter, 'double']);
  });

  it('change with their own tokens, not with those of inner functions', () => {
    expect(changedBy('each + LIMIT', 'each - LIMIT')).toEqual(['Counter.count.(given to map)']);
    expect(changedBy('[0]', '[1]')).toEqual(['Counter.count']);
    expect(changedBy('#count = 0', '#count = 1')).toEqual(['Counter']);
  });

  it.each([
    ['/** Counts. */', '/** Counts more. */'],
    ['by: number): number', 'by: 1 | 2): unknown'],
    ['(x: number) =>', '(x) =>'],
    ['(x: number) =>', '(x?: number): number =>'],
    ['add(x, x)', 'add(x as number, x!) satisfies Sum'],
    ['get total', '// A total.\n  get total'],
    ['get total() {', 'more() {}\n  get total() {'],
  ])('do not change with comments, types and other methods: %s', (from, to) => {
    expect(TEXT).toContain(from);
    expect(changedBy(from, to)).toEqual([]);
  });

  it('mention names', () => {
    const { mentions } = unitsOf('a.ts', TEXT).functions.at(-1)!;
    expect([...mentions].sort()).toEqual(['add', 'x']);
  });
});

describe('statements', () => {
  it('declare names, and act', () => {
    const { statements } = unitsOf('a.ts', TEXT);
    expect(statements.map(({ kind, names }) => [kind, ...names])).toEqual([
      ['import', 'add'],
      ['declaration', 'LIMIT'],
      ['code', 'Counter'],
      ['declaration', 'double'],
      ['effect'],
    ]);
    expect(statements.map(({ isExported }) => isExported)).toEqual([false, true, true, true, false]);
  });

  it('of types are none', () => {
    const text = "import type { A } from './a.js';\nexport type { A };\ninterface B {}\ntype C = B;";
    expect(unitsOf('a.ts', text)).toEqual({ functions: [], statements: [] });
  });

  it('re-export names of modules', () => {
    const { statements } = unitsOf('a.ts', "export { a as b } from './a.js';\nexport * from './c.js';");
    expect(statements.map(({ names, mentions, from }) => [names, [...mentions], from])).toEqual([
      [['b'], ['a'], './a.js'],
      [['*'], ['*'], './c.js'],
    ]);
  });
});
