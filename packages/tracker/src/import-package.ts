import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { AccError } from '@acc/contract';

/**
 * Imports an installed package by its name.
 *
 * @throws AccError `ACC_TRACKER_MISSING`.
 */
export async function importPackage(name: string): Promise<{ default?: unknown }> {
  try {
    return (await import(name)) as { default?: unknown };
  } catch (error) {
    if (!isMissing(error, name)) throw error;
    const path = pathFromProgram(name);
    if (path === undefined) throw missing(name, error);
    return (await import(pathToFileURL(path).href)) as { default?: unknown };
  }
}

/**
 * If packages are not installed flat, only the program can resolve its dependencies; this module
 * cannot.
 */
function pathFromProgram(name: string): string | undefined {
  const places = [process.argv[1], join(process.cwd(), 'any.js')];
  for (const place of places) {
    if (place === undefined) continue;
    try {
      return createRequire(place).resolve(name);
    } catch (error) {
      if (!isMissing(error, name)) throw error;
    }
  }
  return undefined;
}

/** Whether the package itself is missing, as opposed to something that it imports. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  const isNotFound = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  return isNotFound && message.includes(`'${name}'`);
}

function missing(name: string, cause: unknown): AccError {
  return new AccError('ACC_TRACKER_MISSING', `The tracker package ${name} is not installed.`, {
    // A command would install whatever has that name, if it is misspelt.
    help: `Check the name. If it is the package that you mean, add it to your project.`,
    cause,
    details: { package: name },
  });
}
