// Which files changed, against a commit.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChangedFile } from './select/select-sources.js';

/** An error of a command's user. It is shown with `help`, without a stack. */
export class UsageError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly help: string,
  ) {
    super(`${message}\n→ ${help}`);
  }
}

/**
 * The commit to compare with: the one given, otherwise the one where this branch left main.
 *
 * @throws UsageError `ACC_CHECK_BASE` if there is no such commit.
 */
export function baseCommit(root: string, given: string | undefined): string {
  const names = given === undefined ? ['origin/main', 'main'] : [given];
  for (const name of names) {
    try {
      return git(
        root,
        given === undefined ? ['merge-base', 'HEAD', name] : ['rev-parse', `${name}^{commit}`],
      ).trim();
    } catch {
      // The next name.
    }
  }
  throw new UsageError(
    'ACC_CHECK_BASE',
    given === undefined ? 'There is no branch main to compare with.' : `There is no commit ${given}.`,
    'Name a commit: npm run check -- --base <commit>',
  );
}

/** Changed, new and deleted files, whether committed or not, with both versions of their texts. */
export function changedFiles(root: string, base: string): ChangedFile[] {
  const changed = split(git(root, ['diff', '--name-only', '--no-renames', '-z', base]));
  const untracked = split(git(root, ['ls-files', '--others', '--exclude-standard', '-z']));
  return [...new Set([...changed, ...untracked])].sort().map((path) => ({
    path,
    before: textAt(root, base, path),
    now: existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined,
  }));
}

const split = (text: string): string[] => text.split('\0').filter((path) => path !== '');

function textAt(root: string, commit: string, path: string): string | undefined {
  try {
    return git(root, ['show', `${commit}:${path}`]);
  } catch {
    return undefined;
  }
}

function git(root: string, args: readonly string[]): string {
  return execFileSync('git', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}
