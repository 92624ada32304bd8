// The program of a rank of `launch(fn)`. Its argument is the folder with the call.
import { createRequire } from 'node:module';
import { types } from 'node:util';
import { compileFunction, constants, type CompileFunctionOptions } from 'node:vm';
import { AccError } from '@acc/contract';
import * as tslib from 'tslib';
import { readCall, writeResult, type FunctionCall } from './call-files.js';
import type { PortableFunction } from './free-names.js';
import { requirePlain } from './plain-values.js';

/** Helpers that TypeScript's compiler calls in its output, for example for `await import(…)`. */
const HELPERS: Readonly<Record<string, unknown>> = { ...tslib };

type AnyFunction = (...args: readonly unknown[]) => unknown;

const folder = process.argv[2]!;
const rank = process.env.RANK!;
try {
  const call = readCall(folder);
  const fn = await functionOf(call);
  const value = await fn(...call.args);
  requirePlain(value, `the result of rank ${rank}`);
  writeResult(folder, rank, { kind: 'returned', value });
} catch (error) {
  const { code } = Object(error) as { code?: string };
  writeResult(folder, rank, { kind: 'threw', error: sendable(error), code });
  throw error;
}

/**
 * The error in a form that structured cloning keeps an error. Errors of Node's loader hooks, such as
 * those of tsx, are objects with the prototype of an error, and would arrive as records.
 */
function sendable(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  if (types.isNativeError(error)) return error;
  const { message, stack } = error;
  return Object.assign(new Error(message), { stack });
}

async function functionOf({ target, base }: FunctionCall): Promise<AnyFunction> {
  if ('source' in target) return compiled(target, base);
  const exported = ((await import(target.module)) as Record<string, unknown>)[target.export];
  if (typeof exported === 'function') return exported as AnyFunction;
  throw new AccError(
    'ACC_EXPORT_MISSING',
    `${target.module} does not export a function '${target.export}', but ${exported === undefined ? 'nothing of that name' : `a ${typeof exported}`}.`,
    { help: 'Name an exported function: launch({ module, export }, …).' },
  );
}

/** @throws AccError `ACC_FUNCTION_CLOSURE`. */
function compiled({ name, source, freeNames }: PortableFunction, base: string): AnyFunction {
  // Asked here, because a notebook's own variables are globals in its process, but not in this one.
  const unknown = freeNames.filter((free) => !(free in globalThis));
  const helpers = unknown.filter((free) => free in HELPERS);
  const missing = unknown.filter((free) => !helpers.includes(free));
  if (missing.length > 0) {
    throw new AccError(
      'ACC_FUNCTION_CLOSURE',
      `The function '${name}' runs in processes of its own, where variables from outside of it do not exist: ${missing.join(', ')}.`,
      {
        help: "Import inside the function (await import('@acc/core')), pass values by args, or name a function of a module: launch({ module: './train.js', export: 'train' }, …).",
        details: { names: missing },
      },
    );
  }
  const importing = { filename: base, importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER };
  useUpWarning(importing);
  const parameters = ['require', '__name', ...helpers];
  const make = compileFunction(`return (${source});`, parameters, importing) as (
    ...value: unknown[]
  ) => AnyFunction;
  // esbuild, and so tsx, wraps functions in calls of __name.
  const keepName = (fn: unknown) => fn;
  return make(createRequire(base), keepName, ...helpers.map((helper) => HELPERS[helper]));
}

/**
 * Uses up the warning of Node.js 20 that `USE_MAIN_CONTEXT_DEFAULT_LOADER` is experimental, which comes
 * with the first import of a process. The user did not choose it.
 */
function useUpWarning(importing: CompileFunctionOptions): void {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    compileFunction("import('node:vm');", [], importing)();
  } finally {
    process.emitWarning = emitWarning;
  }
}
