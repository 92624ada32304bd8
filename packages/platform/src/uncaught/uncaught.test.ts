import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { AccError, type AccErrorOptions } from '@acc/contract';
import { describe, expect, it } from 'vitest';
import { describeError } from './describe-error.js';
import { readReport, reportOf } from './error-report.js';
import { placedParserError } from './parser-error.js';
import { describeUnsettled } from './unsettled.js';
import { wrapSteps } from './wrap-steps.js';

const FRAME = '    at load (file:///home/someone/train.mjs:7:3)';
const LIBRARY = '    at get (file:///home/someone/node_modules/lib/index.js:1:1)';

/** An error with frames of the program and of a library. */
function thrown<E extends Error>(error: E, ...frames: readonly string[]): E {
  error.stack = [`${error.name}: ${error.message}`, ...frames].join('\n');
  return error;
}

describe('an error on the screen', () => {
  it("has the program's own frames, the code and other properties", () => {
    const error = thrown(new TypeError('no'), LIBRARY, FRAME, '    at node:internal/x:1:1');
    expect(describeError(error)).toBe(`TypeError: no\n${FRAME}`);
    Object.assign(error, { code: 'ENO', status: 503, errno: -2 });
    expect(describeError(error)).toBe(`TypeError [ENO]: no\n    { status: 503, errno: -2 }\n${FRAME}`);
    // Without a frame of the program, those of the library are all that is known.
    expect(describeError(thrown(new Error('x'), LIBRARY))).toBe(`Error: x\n${LIBRARY}`);
    for (const [kind, message] of [
      [Error, 'Error'],
      [TypeError, 'Type'],
    ] as const) {
      const named = new kind(message);
      const cause = thrown(new kind('other'), FRAME);
      named.cause = cause;
      expect(describeError(thrown(named, FRAME)).split('\n')).toEqual([
        `${named.name}: ${message}`,
        `caused by: ${named.name}: other`,
        FRAME,
      ]);
    }
    const changed = thrown(new Error('x'), FRAME);
    changed.message = 'epoch 3: x';
    expect(describeError(changed)).toBe(`Error: epoch 3: x\n${FRAME}`);
  });

  it('repeats no sentence of a cause, and has its own lines of the program', () => {
    const inner = thrown(new Error('no such file'), LIBRARY, FRAME);
    const outer = thrown(new Error('cannot load: no such file', { cause: inner }), LIBRARY, FRAME);
    expect(describeError(outer)).toBe(`Error: cannot load: no such file\n${FRAME}`);
    const other = FRAME.replace('7:3', '9:1');
    outer.cause = thrown(new Error('no such file.'), LIBRARY, other);
    expect(describeError(outer).split('\n').slice(2)).toEqual(['caused at:', other]);
    outer.cause = thrown(new RangeError('too long', { cause: outer }), LIBRARY);
    expect(describeError(outer).split('\n').slice(1)).toEqual(['caused by: RangeError: too long', FRAME]);
    outer.cause = 'a word';
    expect(describeError(outer).split('\n').slice(1)).toEqual(['caused by: a word', FRAME]);
    const long = 'x'.repeat(200_000);
    outer.cause = thrown(new Error(long), LIBRARY);
    expect(describeError(outer).split('\n').slice(1)).toEqual([`caused by: Error: ${long}`, FRAME]);
    const several = new AggregateError(
      [thrown(new Error('one'), LIBRARY), thrown(new Error('two'), LIBRARY)],
      'both',
    );
    expect(describeError(thrown(several, FRAME)).split('\n').slice(1)).toEqual([
      'caused by: Error: one',
      'caused by: Error: two',
      FRAME,
    ]);
  });

  it('has one next step, and no cause that says again why a file is not there', () => {
    const own = (code: string, message: string, options: AccErrorOptions) => {
      const error = new AccError(code, message, options);
      error.stack = `AccError [${code}]: ${error.message}\n${FRAME}`;
      return error;
    };
    const absent = (message: string) =>
      Object.assign(thrown(new Error(message), LIBRARY), { code: 'ENOENT' });
    const storage = own('ACC_STORAGE_NOT_FOUND', 'Reading /a/b failed: ENOENT.', {
      help: 'Check the disk.',
      cause: absent('ENOENT'),
    });
    const outer = own('ACC_X_NOT_FOUND', 'There is no b.', { help: 'Make one.', cause: storage });
    expect(describeError(outer)).toBe(`AccError [ACC_X_NOT_FOUND]: There is no b.\n→ Make one.\n${FRAME}`);
    // The message of the cause with its next step.
    const again = own('ACC_Y', storage.message, { help: 'Look.', cause: storage });
    storage.stack = storage.stack!.replace(
      FRAME,
      FRAME.replace('at load (', 'at async (').replace('7:3', '7:9'),
    );
    expect(describeError(again)).toBe(`AccError [ACC_Y]: Reading /a/b failed: ENOENT.\n→ Look.\n${FRAME}`);
    const named = own('ACC_Y', 'rank 1: Reading b failed: ENOENT', { help: 'Look.', cause: storage });
    expect(describeError(named).split('\n').slice(1)).toEqual(['→ Look.', FRAME]);
    const other = own('ACC_Y', 'no.', { help: 'Look.', cause: storage });
    expect(describeError(other).split('\n').slice(1)).toEqual([
      'caused by: AccError [ACC_STORAGE_NOT_FOUND]: Reading /a/b failed: ENOENT.',
      '→ Look.',
      FRAME,
    ]);
    const plain = thrown(new Error('x', { cause: storage }), FRAME);
    expect(describeError(plain).split('\n').slice(-2)).toEqual(['→ Check the disk.', FRAME]);
  });

  it('of a compiler has the place and no frame of the compiler', () => {
    const of = (message: string) => {
      const error = Object.assign(new Error(message), { name: 'TransformError', errors: [{ text: 'x' }] });
      return describeError(
        thrown(error, '    at wrong (/home/someone/node_modules/esbuild/lib/main.js:1:1)'),
      );
    };
    const wrong = 'Transform failed with 1 error:\n/home/someone/a.ts:3:46: ERROR: Unexpected ";"';
    expect(of(wrong)).toMatch(/^TransformError: Transform failed.*\n.*Unexpected ";"\n→ Correct .*$/);
    expect(of('a.ts:1:1: ERROR: Top-level await is not supported')).toMatch(/not supported$/);
    // Others use the name, too.
    const other = Object.assign(new Error('x'), { name: 'TransformError' });
    expect(describeError(thrown(other, FRAME))).toBe(`TransformError: x\n${FRAME}`);
  });

  it('labels the places of an error and of its cause', () => {
    const other = FRAME.replace('7:3', '9:1');
    const cause = thrown(new Error('no'), other);
    const outer = thrown(new Error('cannot load', { cause }), FRAME);
    expect(describeError(outer)).toBe(
      `Error: cannot load\ncaused by: Error: no\nthrown at:\n${FRAME}\ncaused at:\n${other}`,
    );
    // The same sentence in other lines is said once.
    cause.message = 'Nested maps\n  at line 2\n';
    outer.message = 'a.yaml: Nested maps at line 2';
    expect(describeError(outer)).not.toContain('caused by');
  });

  it('of an await that never settles has the awaits of the program', () => {
    const folder = mkdtempSync(join(tmpdir(), 'acc-await-'));
    const program = join(folder, 'a.mjs');
    writeFileSync(program, "import './b.mjs';\nconst a = await x;\nasync () => {\n  await y;\n};\n");
    writeFileSync(join(folder, 'b.mjs'), 'export const z = 1;\n');
    const only = `    at ${program}:2: const a = await x;`;
    expect(describeUnsettled(program).split('\n').slice(2)).toEqual([only]);
    writeFileSync(join(folder, 'b.mjs'), 'for await (const z of s) t();\n'.repeat(3));
    const lines = describeUnsettled(program).split('\n').slice(2);
    expect([lines[0], lines[1], lines.at(-1)]).toEqual(['it is one of:', only, '    … 1 more']);
    rmSync(folder, { recursive: true });
    expect(describeUnsettled(program)).toMatch(/^A top-level await never settled.*\n→ [^\n]*$/);
  });

  it('has next steps that are not wider than the output', () => {
    const step = `    → ${'word '.repeat(18)}end. npx acc config --force --config-file acc.yaml`;
    const on = (output: object) =>
      wrapSteps(`a\n${step}\n${'b'.repeat(200)}`, output)
        .split('\n')
        .slice(1, -1);
    expect(on({})).toEqual([
      step.slice(0, step.indexOf(' npx')),
      '      npx acc config --force --config-file acc.yaml',
    ]);
    const onTerminal = on({ isTTY: true, columns: 50 });
    expect(onTerminal.map((line) => line.length <= 50)).toEqual([true, true, true, true]);
    expect(onTerminal.map((line) => line.trim()).join(' ')).toBe(step.trim());
  });

  it('says how to find the line of a value that is no error', () => {
    expect(describeError('a word')).toMatch(/^Uncaught 'a word'\n→ Throw an Error/);
    expect(describeError(undefined)).toMatch(/^Uncaught undefined\n→ /);
  });

  it('is shown although its parts cannot be', () => {
    expect(reportOf(Object.assign(new Error('x'), { message: /no/ })).text).toMatch(/\/no\//);
    const cause = Object.assign(new Error('y'), { message: undefined });
    expect(reportOf(new Error('x', { cause })).text).toMatch(/^Error: x\n/);
    const fail = () => {
      throw new Error('again');
    };
    const error = Object.defineProperty(thrown(new Error('x'), FRAME), 'code', { get: fail });
    expect(reportOf(error).text).toBe(`Error: x\n${FRAME}`);
    expect(reportOf({ [inspect.custom]: fail, stack: 'at a' }).text).toBe('at a');
    expect(reportOf(Object.defineProperty({ [inspect.custom]: fail }, 'stack', { get: fail })).text).toBe(
      'an error that cannot be shown',
    );
  });

  it('has the name of its class, also if it comes from another realm', () => {
    class NoLabels extends Error {}
    expect(describeError(thrown(new NoLabels('x'), FRAME))).toBe(`NoLabels: x\n${FRAME}`);
    expect(describeError(runInNewContext("new RangeError('far')"))).toMatch(/^RangeError: far\n/);
  });

  it('of this project has no frames of libraries', () => {
    const error = new AccError('ACC_X', 'no.', { help: 'do' });
    error.stack = `AccError [ACC_X]: no.\n→ do\n${LIBRARY}`;
    expect(describeError(error)).toBe('AccError [ACC_X]: no.\n→ do');
  });

  it('has its details in the whole text only', () => {
    const { code, text, whole } = reportOf(
      new AccError('ACC_X', 'no.', { help: 'do', details: { rank: 3 } }),
    );
    expect(code).toBe('ACC_X');
    expect(text).toMatch(/^AccError \[ACC_X\]: no\.\n→ do\n/);
    expect(text).not.toContain('rank: 3');
    expect(whole).toContain('rank: 3');
  });
});

describe('a process that ends by an error', () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-uncaught-'));
  const built = (name: string) => pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', name)).href;
  const [url, ending] = [built('uncaught.js'), built('ending.js')];
  const run = (program: string, file = '') => {
    const path = join(folder, 'program.mjs');
    writeFileSync(path, `import { endByUncaught } from '${url}';\nendByUncaught('${file}');\n${program}\n`);
    const { status, stderr } = spawnSync(process.execPath, [path], { encoding: 'utf8' });
    return { status, stderr: stderr.replaceAll(pathToFileURL(path).href, 'program.mjs') };
  };

  it('prints it last, and short, or reports it to the launcher', () => {
    const program = "process.on('exit', (code) => console.error('exit', code));\nthrow new Error('no');";
    expect(run(program)).toEqual({ status: 1, stderr: 'Error: no\n    at program.mjs:4:7\nexit 1\n' });
    const file = join(folder, 'report.json');
    expect(run(program, file)).toEqual({ status: 1, stderr: 'exit 1\n' });
    expect(readReport(file)?.text).toMatch(/^Error: no\n {4}at /);
    expect(run("await Promise.reject(new Error('later'));").stderr).toMatch(/^Error: later\n/);
    expect(run(program, join(folder, 'absent', 'report.json')).stderr).toMatch(/^Error: no\n/);
  });

  it('says how to find the line of a rejection with a value that is no error', () => {
    expect(run("void Promise.reject('a word');").stderr).toMatch(/^Uncaught "a word"\n→ Throw an Error/);
  });

  it('says that an await never settles', () => {
    const { status, stderr } = run('await new Promise(() => {});');
    expect(status).toBe(13);
    expect(stderr).toMatch(/^A top-level await never settled.*\n→ .*\n {4}at .*program\.mjs:3: await new/m);
    expect(run('process.exitCode = 13;')).toEqual({ status: 13, stderr: '' });
  });

  it('keeps its exit code and its text if a listener for exit throws', () => {
    const program = "process.on('exit', () => { throw new RangeError('late'); });\nthrow new Error('no');";
    expect(run(program)).toEqual({ status: 1, stderr: 'Error: no\n    at program.mjs:4:7\n' });
  });

  it('without an error says which one a listener for exit has thrown', () => {
    const late = "process.on('exit', () => { throw new RangeError('late'); });";
    const { status, stderr } = run(`${late}\n(await import('${ending}')).exitSurely(75);`);
    expect(status).toBe(75);
    expect(stderr).toMatch(/^acc: a listener for 'exit' has thrown: RangeError: late\n/);
  });

  it('adds no listener that a reporter of errors counts', () => {
    const reporter = `process.on('uncaughtException', () => {
  if (process.listenerCount('uncaughtException') === 1) process.exit(9);
});`;
    expect(run(`${reporter}\nthrow new Error('no');`)).toEqual({ status: 9, stderr: '' });
  });

  it("leaves it to the program's own listeners", () => {
    const own = (event: string) =>
      `process.on('${event}', () => { console.error('own'); process.exitCode = 7; });`;
    const later = 'await new Promise(setImmediate);';
    const expected = { status: 7, stderr: 'own\n' };
    expect(
      run(`${own('uncaughtException')}\nsetImmediate(() => { throw new Error('no'); });\n${later}`),
    ).toEqual(expected);
    expect(run(`${own('unhandledRejection')}\nvoid Promise.reject(new Error('no'));\n${later}`)).toEqual(
      expected,
    );
  });

  it('has the line of a mistake that the parser finds in a module of a module', () => {
    writeFileSync(join(folder, 'mistake.mjs'), 'const a = ;\n');
    writeFileSync(join(folder, 'module.mjs'), "import './program.mjs';\nexport * from './mistake.mjs';\n");
    // Texts that look like imports name a folder, and a file that is no ES module.
    mkdirSync(join(folder, 'folder.mjs'));
    writeFileSync(join(folder, 'other.cjs'), 'const a = ;\n');
    const texts = "// from './folder.mjs', from './other.cjs'\n";
    const { status, stderr } = run(`${texts}await import('./module.mjs');`);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^\/.*\/mistake\.mjs:1\nconst a = ;\n {10}\^\n\nSyntaxError: Unexpected token ';'\n$/,
    );
    // A module that no text of the program names is left to Node.js.
    const named = run("await import(['./mistake', 'mjs'].join('.'));");
    expect(named.stderr).toMatch(/\/mistake\.mjs:1\n[^]*compileSourceTextModule/);
  });

  it.each([undefined, '/no/such/program'])(
    'has the mistake without its line if the program is %s',
    (program) => expect(placedParserError(new SyntaxError("Unexpected token ';'"), program)).toBeUndefined(),
  );
});
