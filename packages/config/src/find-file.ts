import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { AccError } from '@acc/contract';

export type Variables = Readonly<Record<string, string | undefined>>;

/** A config file, and what chose it. */
export interface FoundFile {
  readonly path: string;
  readonly origin: string;
}

/** The name of the file in a project. */
export const PROJECT_FILE = 'acc.yaml';

/** `process.cwd()`, or '.' if the working directory was removed. It has no config file then. */
export function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '.';
  }
}

/** The config file of a user: below `XDG_CONFIG_HOME`, by default `~/.config`. */
export function userFile(env: Variables): string {
  return join(env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'acc', 'config.yaml');
}

/**
 * Finds the config file: the given one, `ACC_CONFIG_FILE`, `acc.yaml` in the working directory, or
 * the user's. The first of them is used, and files are not combined. `ACC_CONFIG_FILE=none` uses no
 * file.
 *
 * @throws AccError `ACC_CONFIG_MISSING` if a file that was asked for does not exist.
 */
export function findFile(env: Variables, cwd: string, value?: string): FoundFile | undefined {
  const asked = value ?? (env['ACC_CONFIG_FILE'] || undefined);
  const origin = value === undefined ? 'ACC_CONFIG_FILE' : '--config-file';
  if (asked === 'none') return undefined;
  if (asked !== undefined) {
    const path = resolve(cwd, asked);
    if (existsSync(path)) return { path, origin };
    throw new AccError('ACC_CONFIG_MISSING', `${origin}: there is no file ${path}.`, {
      help: `Write it with: npx acc config --config-file ${asked}`,
      details: { path, origin },
    });
  }
  const project = join(cwd, PROJECT_FILE);
  if (existsSync(project)) return { path: project, origin: 'the working directory' };
  const user = userFile(env);
  return existsSync(user) ? { path: user, origin: "the user's config folder" } : undefined;
}
