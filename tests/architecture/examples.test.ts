import { describe, expect, it } from 'vitest';
import { filesUnder, readText } from './reading/repository.js';

const features = filesUnder('examples/by-feature', ['.ts']);

/**
 * The programs whose feature acts at several places, with the number of them. The API needs them:
 * a run is restored after `prepare` and saved after each epoch; local steps end before the test, and
 * not with the last step, which a loop may choose; a figure is logged where it is known.
 */
const PLACES: Readonly<Record<string, number>> = { checkpointing: 3, 'local-sgd': 2, tracking: 2 };

interface Unmarked {
  readonly lines: string[];
  readonly blocks: number;
}

/**
 * The rest of a program without its header, its imports, its indentation and its marked blocks,
 * with the lines that the blocks quote as replaced.
 */
function unmarked(path: string): Unmarked {
  const lines = readText(path).split('\n');
  const body = lines.slice(lines.findIndex((line) => line.startsWith('import ')));
  const left: string[] = [];
  let blocks = 0;
  let isMarked = false;
  for (const line of body.map((text) => text.trim())) {
    if (/^\/\/ \+( |$)/.test(line)) {
      if (isMarked) throw new Error(`${path}: a block begins within a block.`);
      isMarked = true;
      blocks++;
    } else if (line === '// -') {
      if (!isMarked) throw new Error(`${path}: a block ends that did not begin.`);
      isMarked = false;
    } else if (isMarked && line.startsWith('// was: ')) left.push(line.slice('// was: '.length));
    else if (!isMarked && !line.startsWith('import ')) left.push(line);
  }
  if (isMarked) throw new Error(`${path}: a block does not end.`);
  return { lines: left, blocks };
}

describe('examples/by-feature', () => {
  const base = unmarked('examples/base.ts');

  it.each(features)('%s is base.ts and one marked feature', (path) => {
    const { lines, blocks } = unmarked(path);
    expect(lines).toEqual(base.lines);
    expect(blocks).toBe(PLACES[nameOf(path)] ?? 1);
  });

  it('has all programs that are listed here', () => {
    expect(base.blocks).toBe(0);
    expect(features.length).toBeGreaterThanOrEqual(18);
    const names = features.map(nameOf);
    expect(Object.keys(PLACES).filter((name) => !names.includes(name))).toEqual([]);
    expect(Object.values(PLACES).filter((places) => places < 2)).toEqual([]);
  });

  it('is listed in the README, and says how to start each program', () => {
    const readme = readText('examples/README.md');
    expect(features.filter((path) => !readme.includes(`(by-feature/${nameOf(path)}.ts)`))).toEqual([]);
    expect(features.filter((path) => !readText(path).includes(`acc launch -n 2 ${path}\n`))).toEqual([]);
  });

  it('is known to tests/e2e/ranks/examples.ts', () => {
    const runner = readText('tests/e2e/ranks/examples.ts');
    expect(features.filter((path) => !runner.includes(path.replace(/\.ts$/, '.js')))).toEqual([]);
  });
});

function nameOf(path: string): string {
  return path.replace(/^.*\//, '').replace(/\.ts$/, '');
}
