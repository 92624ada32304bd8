import { inspect } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { engineAdvice } from './engine-advice.js';
import { AccError, isAccError, withoutHelp } from './errors.js';
import { programStack } from './program-frames.js';

afterEach(() => vi.unstubAllEnvs());

describe('AccError', () => {
  it('keeps code, cause and help', () => {
    const cause = new Error('underneath');
    const error = new AccError('ACC_X', 'what happened', { cause, help: 'do this' });
    expect(error).toMatchObject({ code: 'ACC_X', cause, help: 'do this', name: 'AccError' });
    expect(error.message).toBe('what happened\n→ do this');
  });

  it('is recognised across copies of the package', () => {
    const foreign = Object.assign(new Error('x'), { name: 'AccError', code: 'ACC_X' });
    expect(isAccError(foreign, 'ACC_X')).toBe(true);
    expect(isAccError(foreign, 'ACC_Y')).toBe(false);
    expect(isAccError('ACC_X')).toBe(false);
  });

  it('is printed with its code, the next step and the frames of the program, without details', () => {
    const known = Array.from({ length: 40 }, (_, i) => `option ${i}`);
    const thrown = [3].map(
      () => new AccError('ACC_X', 'what happened', { help: 'do this', details: { known } }),
    );
    const lines = inspect(thrown[0]).split('\n');
    expect(lines.slice(0, 2)).toEqual(['AccError [ACC_X]: what happened', '→ do this']);
    expect(lines.slice(2).filter((line) => line.includes('    at '))).toHaveLength(2);
    expect(lines.slice(2, 4).join()).toMatch(/errors\.test\.ts:\d+:\d+\)?.*errors\.test\.ts:\d+:\d+/);
    expect(lines.slice(4)).toEqual(["  code: 'ACC_X'", '}']);
    expect(thrown[0]!.details).toEqual({ known });
  });

  it('keeps the first frames of a stack that has none of the program', () => {
    const module = '/home/someone/node_modules/library/index.js';
    const frames = Array.from({ length: 6 }, (_, i) => `    at f${i} (${module}:${i + 1}:1)`);
    expect(programStack(['Error: x', ...frames].join('\n'), 'x').split('\n')).toEqual([
      'Error: x',
      ...frames.slice(0, 4),
    ]);
    const program = [
      '    at train (file:///home/someone/packages/app/src/train.ts:7:3)',
      '    at C:\\home\\app\\train.ts:9:1',
    ];
    const mixed = [
      'Error: x',
      frames[0]!,
      program[0]!,
      '    at node:internal/modules/run_main:117:5',
      program[1]!,
    ];
    expect(programStack(mixed.join('\n'), 'x')).toBe(['Error: x', ...program].join('\n'));
    expect(programStack('Error: x', 'x')).toBe('Error: x');
  });

  it('has its code in its name where the engine writes the stack before the name, as in Chromium', () => {
    const { prepareStackTrace } = Error;
    Error.prepareStackTrace = ({ message }) => `Error: ${message}\n    at a.js:1:1`;
    const error = new AccError('ACC_X', 'no.');
    Error.prepareStackTrace = prepareStackTrace;
    expect(String(error)).toBe('AccError [ACC_X]: no.');
    expect(error.stack).toMatch(/^AccError \[ACC_X\]: no\./);
    expect([isAccError(error, 'ACC_X'), error.toJSON()]).toMatchObject([true, { name: 'AccError' }]);
  });

  it('names no command in a page', () => {
    vi.stubGlobal('process', undefined);
    const inPage = engineAdvice('leave it out');
    vi.unstubAllGlobals();
    expect(inPage).toBe('In a page, leave it out.');
    expect(engineAdvice('leave it out')).toMatch(/npx acc setup.*, or leave it out\.$/);
  });

  it('leaves out sources of libraries that source maps name, and that are not installed', () => {
    const library = '    at assert (/home/someone/tfjs-core/src/util_base.ts:153:11)';
    const program = `    at async ${import.meta.url.replace(/[^/]*$/, 'errors.test.ts')}:7:3`;
    expect(programStack(['Error: x', library, program].join('\n'), 'x')).toBe(`Error: x\n${program}`);
    const plain = `    at train (${process.execPath}:7:3)`;
    expect(programStack(['Error: x', library, plain].join('\n'), 'x')).toBe(`Error: x\n${plain}`);
    // The sources of a program that was compiled elsewhere.
    expect(programStack(['Error: x', library].join('\n'), 'x')).toBe(`Error: x\n${library}`);
  });

  it('keeps a message that has frames of another error', () => {
    const message = 'rank 2 failed:\n    at layer dense_1 (a.js:1:1)\nsecond line';
    const { stack } = new AccError('ACC_X', message, { help: 'do this' });
    expect(stack).toContain(`AccError [ACC_X]: ${message}\n→ do this\n    at `);
  });

  it('is complete in JSON', () => {
    const error = new AccError('ACC_X', 'what happened', { help: 'do this', details: { key: 1 } });
    const { name, code, message, help, details } = error;
    expect(JSON.parse(JSON.stringify(error))).toEqual({ name, code, message, help, details });
  });

  it('is printed whole with ACC_STACK=1', () => {
    vi.stubEnv('ACC_STACK', '1');
    const text = inspect(
      new AccError('ACC_X', 'what happened', { help: 'do this', details: { key: 'value' } }),
    );
    expect(text).toContain("details: { key: 'value' }");
    expect(text).toContain('/node_modules/');
  });
});

it('a message gives its sentence without the next step, for a sentence that continues after it', () => {
  const { message } = new AccError('ACC_X', 'The disk\nis full.', { help: 'do this → or that' });
  expect([withoutHelp(message), withoutHelp('no next step')]).toEqual(['The disk\nis full.', 'no next step']);
});
