import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { describeError } from './describe-error.js';

const FRAME = '    at load (file:///home/someone/train.mjs:7:3)';

/** An error with these frames. */
function thrown<E extends Error>(error: E, ...frames: readonly string[]): E {
  error.stack = [`${error.name}: ${error.message}`, ...frames].join('\n');
  return error;
}

describe('an error on the screen', () => {
  it('about an import has its line in the source that was compiled, and a next step', () => {
    const folder = mkdtempSync(join(tmpdir(), 'acc-import-'));
    const source = join(folder, 'train.mts');
    const compiled = join(folder, 'node_modules', '.cache', 'acc', 'a', 'train.mts.mjs');
    mkdirSync(dirname(compiled), { recursive: true });
    const map = Buffer.from(JSON.stringify({ sources: ['../../../../train.mts'] })).toString('base64');
    writeFileSync(compiled, `//# sourceMappingURL=data:application/json;base64,${map}\n`);
    writeFileSync(source, "import a from './data.mts';\nimport b from '@x/lodsh/sub';\n");
    writeFileSync(join(folder, 'dats.mts'), '');
    const of = (what: string) => {
      const message = `Cannot find ${what} imported from ${compiled}`;
      const error = thrown(
        new Error(message),
        '    at packageResolve (node:internal/modules/esm/resolve:8:9)',
      );
      return describeError(Object.assign(error, { code: 'ERR_MODULE_NOT_FOUND', url: 'file:///x' }));
    };
    const said = (what: string, step: string, place: string) => {
      const [line, column] = place.split(':').map(Number) as [number, number];
      const text = readFileSync(source, 'utf8').split('\n')[line - 1]!;
      const excerpt = `    ${text}\n    ${' '.repeat(column - 1)}^`;
      return `Error [ERR_MODULE_NOT_FOUND]: Cannot find ${what} imported from ${source}\n${excerpt}\n→ ${step}\n    at ${source}:${place}`;
    };
    const file = `module '${join(folder, 'data.mts')}'`;
    expect(of(file)).toBe(said(file, "Did you mean './dats.mts'?", '1:15'));
    const named = "package '@x/lodsh'";
    expect(of(named)).toMatch(/\n→ Check the name: .*\n {4}at .*train\.mts:2:15$/);
    const names = (name: string) =>
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ dependencies: { [name]: '*' } }));
    names('@x/lodash');
    expect(of(named)).toBe(said(named, "Did you mean '@x/lodash'?", '2:15'));
    names('@x/lodsh');
    expect(of(named)).toContain("→ package.json names '@x/lodsh'. Install the project's packages");
    rmSync(folder, { recursive: true });
  });

  const files = {
    'a.mjs':
      "import data from './data.csv';\nimport './b.mjs';\nimport { one,\n  tow } from './names.mjs';\n",
    'b.mjs':
      "import json from './data.json';\nimport lib from './names.mjs';\nimport { xy } from 'lib';\nimport 'htps://x/y';\nimport './c.mjs';\n",
    'c.mjs':
      "import {} from './more.mjs';\nimport json from './data.json' with { type: 'jsn' };\nexport { a } from './data.json' with { typ: 'json' };\n",
    'names.mjs':
      "export const two = 2;\nexport { two as zwei } from './b.mjs';\nexport * from './more.mjs';\n",
    'more.mjs': 'export function three() {}\n',
    'data.json': '{"a": 1,}',
    'node_modules/lib/package.json': '{ "main": "main.js" }',
    'node_modules/lib/main.js': "Object.keys(a).forEach(0); require('./other.js'); exports.y1 = 1;\n",
    'node_modules/lib/other.js': "Object.defineProperty(exports, 'xx', {});\n",
  };
  const unknown = (folder: string) => `Unknown file extension ".csv" for ${folder}/data.csv`;
  const url = (folder: string) => pathToFileURL(join(folder, 'data.json')).href;
  it.each<[string, string, (folder: string) => string, string, string]>([
    [
      'TypeError',
      'ERR_UNKNOWN_FILE_EXTENSION',
      unknown,
      'a.mjs:1:18',
      "Read the file: readFileSync(new URL('./data.csv'",
    ],
    [
      'TypeError',
      'ERR_IMPORT_ATTRIBUTE_MISSING',
      (folder) => `Module "${url(folder)}" needs an import attribute of "type: json"`,
      'b.mjs:1:18',
      "from './data.json' with { type: 'json' }",
    ],
    [
      'TypeError',
      'ERR_IMPORT_ASSERTION_TYPE_UNSUPPORTED',
      () => 'Import attribute type "jsn" is unsupported',
      'c.mjs:2:18',
      "Write with { type: 'json' }",
    ],
    [
      'TypeError',
      'ERR_IMPORT_ATTRIBUTE_UNSUPPORTED',
      () => 'Import attribute "typ" with value "json" is not supported',
      'c.mjs:3:19',
      "Write with { type: 'json' }",
    ],
    [
      'Error',
      'ERR_UNSUPPORTED_ESM_URL_SCHEME',
      () =>
        "Only URLs with a scheme in: file, data, and node are supported by the default ESM loader. Received protocol 'htps:'",
      'b.mjs:4:8',
      'download the module',
    ],
    [
      'SyntaxError',
      '',
      () => "The requested module './names.mjs' does not provide an export named 'tow'",
      'a.mjs:4:3',
      "Did you mean 'two'?",
    ],
    [
      'SyntaxError',
      '',
      () => "The requested module './names.mjs' does not provide an export named 'one'",
      'a.mjs:3:10',
      'It exports two, zwei, three.',
    ],
    [
      'SyntaxError',
      '',
      () => "The requested module './names.mjs' does not provide an export named 'default'",
      'b.mjs:2:8',
      "import { two, zwei } from './names.mjs'",
    ],
    [
      'SyntaxError',
      '',
      () =>
        "Named export 'xy' not found. The requested module 'lib' is a CommonJS module, which may not support all module.exports as named exports.\nCommonJS …",
      'b.mjs:3:10',
      "Did you mean 'xx'?",
    ],
    [
      'Error',
      'MODULE_NOT_FOUND',
      (folder) => `Cannot find module './mor.mjs'\nRequire stack:\n- ${folder}/names.mjs`,
      'names.mjs',
      "Did you mean './more.mjs'?",
    ],
  ])('about an import has its line in the program: %s %s %#', (name, code, messageIn, place, step) => {
    const folder = mkdtempSync(join(tmpdir(), 'acc-imports-'));
    mkdirSync(join(folder, 'node_modules', 'lib'), { recursive: true });
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
    const error = Object.assign(thrown(new Error(messageIn(folder)), '    at node:internal/x:1:1'), {
      name,
      ...(code && { code }),
    });
    const [, program] = process.argv;
    process.argv[1] = join(folder, 'a.mjs');
    const lines = describeError(error).split('\n');
    process.argv[1] = program!;
    rmSync(folder, { recursive: true });
    expect(lines.at(-1)).toBe(`    at ${join(folder, place)}`);
    expect(lines.at(-2)).toMatch(/^→ /);
    expect(lines.at(-2)).toContain(step);
    const [file, line, column] = place.split(':') as [keyof typeof files, string, string];
    if (line === undefined) return;
    expect(lines.slice(-4, -2)).toEqual([
      `    ${files[file].split('\n')[Number(line) - 1]}`,
      `${' '.repeat(Number(column) + 3)}^`,
    ]);
  });

  it('in a JSON file that is imported has its line, and one of a missing word of CommonJS a step', () => {
    const folder = mkdtempSync(join(tmpdir(), 'acc-json-'));
    const file = join(folder, 'data.json');
    writeFileSync(file, '{\n"a": 1,}');
    const error = new SyntaxError(`${file}: Expected double-quoted property name in JSON at position 9`);
    expect(describeError(error).split('\n').slice(1)).toEqual([
      '    "a": 1,}',
      '           ^',
      '→ Remove the comma before }: JSON has none there.',
    ]);
    rmSync(folder, { recursive: true });
    const scope = (word: string) =>
      describeError(thrown(new ReferenceError(`${word} is not defined in ES module scope`), FRAME));
    expect(scope('require')).toMatch(/\n→ An ES module has no require.*createRequire/);
    expect(scope('__dirname')).toContain('→ Write import.meta.dirname');
    expect(scope('module')).toContain('rename the file to .cjs');
    expect(scope('model')).not.toContain('→');
  });
});
