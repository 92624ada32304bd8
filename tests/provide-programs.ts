import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Debian's packages, by one program of each. */
export type Packages = Readonly<Record<string, string>>;

/**
 * Installs the programs that tests run and that are missing, with apt-get.
 *
 * @param who The tests, for messages.
 * @throws Error if one cannot be installed.
 */
export function providePrograms(who: string, packages: Packages): void {
  const missing = missingPackages(packages);
  if (missing.length === 0) return;
  console.log(`Installing programs. ${who} need ${missing.join(', ')}`);
  apt(who, ['update', '-qq'], missing);
  apt(who, ['install', '-y', '-qq', '--no-install-recommends', ...missing], missing);
  const still = missingPackages(packages);
  if (still.length > 0) throw unavailable(who, missing, `${still.join(', ')} brought no program`);
}

/** The path of a program. Undefined if it is not on the `PATH`. */
export function pathOfProgram(program: string): string | undefined {
  const paths = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, program));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function missingPackages(packages: Packages): string[] {
  return Object.entries(packages).flatMap(([program, name]) => (pathOfProgram(program) ? [] : [name]));
}

function apt(who: string, args: readonly string[], packages: readonly string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status, stderr, error } = spawnSync('apt-get', args, { encoding: 'utf8', env });
  if (status !== 0)
    throw unavailable(who, packages, `apt-get ${args[0]}: ${error?.message ?? stderr.trim()}`);
}

function unavailable(who: string, packages: readonly string[], reason: string): Error {
  return new Error(
    `${who} need Linux, root and ${packages.join(', ')} (names of Debian's packages), which could not be installed: ${reason}`,
  );
}
