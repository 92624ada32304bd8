import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../../../fixtures/run-acc.js';

interface Outcome {
  readonly value?: unknown;
  readonly code?: string;
  readonly message?: string;
  /** The code of the cause, or its message. */
  readonly cause?: string;
  readonly details?: { readonly rank?: number; readonly names?: string[] };
}

let outcomes: Record<string, Outcome>;
let output = '';
beforeAll(async () => {
  const env = { ...process.env, ACC_LIBTORCH: '/no/libtorch', NO_COLOR: '1' };
  const child = spawn(process.execPath, [fixture('functions.mjs')], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  // The program's own stdin, which ranks leave alone, stays open.
  await once(child, 'close');
  const [, json] = /^outcomes (.*)$/m.exec(output) ?? expect.unreachable(output);
  outcomes = JSON.parse(json!) as Record<string, Outcome>;
});

describe('launch(fn)', () => {
  it('runs a function on ranks with copies of its arguments, and returns their values by rank', () => {
    const values = outcomes['values']!.value as Record<string, unknown>[];
    const common = { size: 2, GIVEN: 'yes', args: [{ a: [1] }, 'x'], tripled: 6, name: 'b' };
    expect(values).toEqual([
      { rank: 0, ...common, cpus: expect.stringMatching(/^\d/) },
      { rank: 1, ...common, cpus: expect.stringMatching(/^\d/) },
    ]);
    expect(outcomes['bytes']!.value).toEqual({ 0: 1.5 });
    expect(output).toMatch(/^\[0\] hello from 0$/m);
    expect(output).toMatch(/^\[1\] hello from 1$/m);
  });

  it('runs a function of a module with what it imports and closes over', () => {
    expect(outcomes['module']!.value).toEqual([12]);
    expect(outcomes['typescript']!.value).toEqual([13, 14]);
  });

  it('names variables from outside of the function', () => {
    expect(outcomes['closure']).toMatchObject({ code: 'ACC_LAUNCH_FAILED', cause: 'ACC_FUNCTION_CLOSURE' });
    expect(outcomes['closure']!.message).toContain('outside');
  });

  it('names a module that is missing, also where a loader hook reports it', () => {
    expect(outcomes['noModule']!.message).toContain('no-such-module.ts');
  });

  it('throws the error of the rank that failed, and ends the others', () => {
    expect(outcomes['thrown']).toMatchObject({
      code: 'ACC_LAUNCH_FAILED',
      cause: 'ACC_LUCK',
      details: { rank: 1 },
    });
    expect(outcomes['thrown']!.message).toContain('out of luck');
    // Node.js writes it in the rank. The launcher throws it, and writes nothing.
    expect(output).not.toMatch(/^acc: rank/m);
    expect(output).not.toContain('ExperimentalWarning');
  });

  it.each([
    ['killed', 'ACC_LAUNCH_FAILED', undefined],
    ['left', 'ACC_LAUNCH_FAILED', undefined],
    ['method', 'ACC_FUNCTION_SOURCE', expect.any(String)],
    ['aClass', 'ACC_FUNCTION_SOURCE', undefined],
    ['bound', 'ACC_FUNCTION_SOURCE', expect.any(String)],
    ['argument', 'ACC_NOT_PLAIN', undefined],
    ['result', 'ACC_LAUNCH_FAILED', 'ACC_NOT_PLAIN'],
    ['noModule', 'ACC_LAUNCH_FAILED', 'ERR_MODULE_NOT_FOUND'],
    ['noExport', 'ACC_LAUNCH_FAILED', 'ACC_EXPORT_MISSING'],
    ['nested', 'ACC_LAUNCH_FAILED', 'ACC_LAUNCH_NESTED'],
    ['option', 'ACC_UNKNOWN_OPTION', undefined],
    ['count', 'ACC_BAD_OPTION', undefined],
    ['args', 'ACC_BAD_OPTION', undefined],
    ['url', 'ACC_BAD_OPTION', undefined],
  ])('refuses or reports %s as %s', (name, code, cause) => {
    expect(outcomes[name]).toMatchObject({ code });
    expect(outcomes[name]!.cause).toEqual(cause);
  });
});
