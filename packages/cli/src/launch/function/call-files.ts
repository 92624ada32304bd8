import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type { PortableFunction } from './free-names.js';

/** A call of a launched function, for its ranks. The launcher writes it to a folder for them. */
export interface FunctionCall {
  readonly target: PortableFunction | ModuleTarget;
  readonly args: readonly unknown[];
  /** The absolute path of the file relative to which the function imports. It need not exist. */
  readonly base: string;
}

/** A function that a module exports. */
export interface ModuleTarget {
  /** A file: URL. */
  readonly module: string;
  readonly export: string;
}

/** How the function ended on a rank. */
export type FunctionResult =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown; readonly code: string | undefined };

export function writeCall(folder: string, call: FunctionCall): void {
  writeFileSync(join(folder, 'call'), serialize(call), { mode: 0o600 });
}

export function readCall(folder: string): FunctionCall {
  return deserialize(readFileSync(join(folder, 'call'))) as FunctionCall;
}

export function writeResult(folder: string, rank: string, result: FunctionResult): void {
  writeFileSync(join(folder, `result-${rank}`), serialize(result), { mode: 0o600 });
}

/** Undefined if the rank did not write one. */
export function readResult(folder: string, rank: number): FunctionResult | undefined {
  try {
    return deserialize(readFileSync(join(folder, `result-${rank}`))) as FunctionResult;
  } catch {
    // The rank was killed, or left by process.exit.
    return undefined;
  }
}
