import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AccError, isRecord, jsonMistake } from '@acc/contract';

interface Codes {
  readonly missing: string;
  readonly invalid: string;
}

/**
 * Reads a JSON object.
 *
 * @param given A file, or a folder with the file `name`.
 */
export function readJsonFile(
  given: string,
  name: string,
  { missing, invalid }: Codes,
): { path: string; json: Readonly<Record<string, unknown>> } {
  const path = isFolder(given) ? join(given, name) : given;
  const json = parsed(textOf(path, missing), path, invalid);
  if (isRecord(json)) return { path, json };
  throw new AccError(invalid, `${path} is not a JSON object.`, {
    help: 'Give a file that begins with { and ends with }.',
  });
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function textOf(path: string, code: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new AccError(code, `${path} cannot be read.`, {
      help: 'Give the path of a file on this machine. Names of models on the Hub are not looked up.',
      cause,
    });
  }
}

function parsed(text: string, path: string, code: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const { problem, help } = jsonMistake(text, cause);
    throw new AccError(code, `${path} is not valid JSON: ${problem}`, { help, cause });
  }
}
