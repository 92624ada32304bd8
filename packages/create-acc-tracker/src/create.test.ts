import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createTrackerPackage } from './create.js';
import { main } from './main.js';
import { namesOf } from './names.js';

const newFolder = () => mkdtempSync(join(tmpdir(), 'acc-create-'));
const manifestIn = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>;
const coded = (code: string) => expect.objectContaining({ code }) as Error;

afterEach(() => vi.restoreAllMocks());

describe('names', () => {
  it('of a service are derived for code and for npm', () => {
    const names = {
      kebab: 'my-2nd-try',
      camel: 'my2ndTry',
      pascal: 'My2ndTry',
      packageName: 'acc-tracker-my-2nd-try',
    };
    expect(namesOf('my-2nd-try')).toEqual(names);
    expect(namesOf('acc-tracker-my-2nd-try')).toEqual(names);
  });

  it.each(['', 'My', '-a', 'a--b', '2a', '@x/y', 'a_b', '../a'])("refuses '%s'", (name) => {
    expect(() => namesOf(name)).toThrow(coded('ACC_BAD_OPTION'));
  });
});

describe('the package', () => {
  it('has its own names everywhere', () => {
    const dir = join(newFolder(), 'new');
    const { packageName, files } = createTrackerPackage({ name: 'board', dir });
    expect(packageName).toBe('acc-tracker-board');
    expect(files).toEqual([
      '.github/workflows/publish.yml',
      '.gitignore',
      'README.md',
      'package.json',
      'src/index.ts',
      'src/store.ts',
      'src/tracker.ts',
      'test/conformance.test.ts',
      'tsconfig.build.json',
      'tsconfig.json',
    ]);
    const texts = files.map((file) => readFileSync(join(dir, file), 'utf8'));
    expect(texts.filter((text) => /my-?service/i.test(text))).toEqual([]);
    expect(manifestIn(dir)).toMatchObject({ name: 'acc-tracker-board' });
  });

  it('depends on the packages of this release, and later ones', () => {
    const dir = join(newFolder(), 'new');
    createTrackerPackage({ name: 'board', dir });
    const versionOf = (folder: string) =>
      manifestIn(join(import.meta.dirname, '..', '..', folder))['version'] as string;
    expect(manifestIn(dir)).toMatchObject({
      version: '0.1.0',
      peerDependencies: { '@acc/contract': `^${versionOf('contract')}` },
      devDependencies: {
        '@acc/contract': `^${versionOf('contract')}`,
        '@acc/testkit': `^${versionOf('testkit')}`,
      },
    });
  });

  it('is not created in a folder that is not empty', () => {
    const dir = newFolder();
    writeFileSync(join(dir, 'mine'), '');
    expect(() => createTrackerPackage({ name: 'board', dir })).toThrow(coded('ACC_FOLDER_NOT_EMPTY'));
    expect(() => createTrackerPackage({ name: 'board', folder: dir } as never)).toThrow(
      coded('ACC_UNKNOWN_OPTION'),
    );
  });
});

describe('the command line', () => {
  it.each([
    [[], 'ACC_USAGE', 'Write: npm create acc-tracker my-service'],
    [['a', 'b'], 'ACC_USAGE', 'Write: npm create acc-tracker my-service'],
    [['Bad_Name'], 'ACC_BAD_OPTION', 'lower-case letters'],
    [['x', '--dri', 'y'], 'ACC_UNKNOWN_OPTION', 'Did you mean --dir?'],
    [['x', '--nowhere', 'y'], 'ACC_UNKNOWN_OPTION', 'Write: npm create acc-tracker my-service'],
    [['x', '--dir'], 'ACC_BAD_OPTION', 'Write: npm create acc-tracker my-service'],
  ])('%j ends with %s and a next step', (args, code, help) => {
    const lines: string[] = [];
    vi.spyOn(console, 'error').mockImplementation((line: string) => void lines.push(line));
    expect(main(args)).toBe(2);
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^create-acc-tracker: ${code}: [^\n]+\n→ .*${help}`)),
    ]);
  });

  it.each([
    [['a', 'b'], "Give one name: 'b' is one too many."],
    [['a', 'b', 'c'], "Give one name: 'b', 'c' are too many."],
  ])('%j names what is too many', (args, message) => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    main(args);
    expect(print).toHaveBeenCalledWith(expect.stringContaining(message));
  });

  it('prints its form with --help', () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    expect(main(['--help'])).toBe(0);
    expect(log).toHaveBeenCalledWith(expect.stringContaining('--dir <folder>'));
  });

  it('prints the next steps', () => {
    const lines: string[] = [];
    vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
    expect(main(['board', '--dir', join(newFolder(), 'x')])).toBe(0);
    expect(lines.join('\n')).toContain('npm test');
  });
});
