import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Installs missing programs with apt-get.
 *
 * @param packages Debian's packages, by one program of each.
 * @param purpose What needs them, for messages: 'Tests on several hosts'.
 */
export function provideDebianPackages(packages: Readonly<Record<string, string>>, purpose: string): void {
  const missing = missingPackages(packages);
  if (missing.length === 0) return;
  console.log(`${purpose} need packages, which are installed now: ${missing.join(', ')}`);
  apt(['update', '-qq'], { missing, purpose });
  // Another process of the tests may be installing.
  const wait = ['-o', 'DPkg::Lock::Timeout=300'];
  apt(['install', '-y', '-qq', '--no-install-recommends', ...wait, ...missing], { missing, purpose });
  const still = missingPackages(packages);
  if (still.length > 0) throw unavailable({ missing, purpose }, `${still.join(', ')} brought no program`);
}

interface Need {
  readonly missing: readonly string[];
  readonly purpose: string;
}

function missingPackages(packages: Readonly<Record<string, string>>): string[] {
  return Object.entries(packages).flatMap(([program, name]) => (pathOfProgram(program) ? [] : [name]));
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

function apt(args: readonly string[], need: Need): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status, stderr, error } = spawnSync('apt-get', args, { encoding: 'utf8', env });
  if (status !== 0) throw unavailable(need, `apt-get ${args[0]}: ${error?.message ?? stderr.trim()}`);
}

function unavailable({ missing, purpose }: Need, reason: string): Error {
  return new Error(
    `${purpose} need Linux, root and ${missing.join(', ')} (names of Debian's packages), which could not be installed: ${reason}`,
  );
}
