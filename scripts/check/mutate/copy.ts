// A copy of the checkout in which mutants are made, so that the working tree is never touched.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface TreeCopy {
  readonly root: string;
  remove(): void;
}

/** Folders that tools rewrite in place. */
const NOT_LINKED = new Set(['.cache', '.vite', '.vite-temp']);

/**
 * Copies the checkout with its changes, which become a commit, its installed packages (as links to
 * the same files) and what was built.
 */
export function copyTree(root: string): TreeCopy {
  const folder = mkdtempSync(join(tmpdir(), 'acc-mutants-'));
  const copy = join(folder, 'tree');
  git(folder, ['clone', '--quiet', '--shared', '--no-checkout', root, copy]);
  git(copy, ['checkout', '--quiet', '--detach', git(root, ['rev-parse', 'HEAD']).trim()]);
  copyChanges(root, copy);
  for (const path of installedFolders(root)) linkFolder(join(root, path), join(copy, path));
  for (const path of builtFolders(root)) cpSync(join(root, path), join(copy, path), { recursive: true });
  return { root: copy, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function copyChanges(root: string, copy: string): void {
  const changed = git(root, ['diff', '--name-only', '--no-renames', '-z', 'HEAD']);
  const untracked = git(root, ['ls-files', '--others', '--exclude-standard', '-z']);
  for (const path of `${changed}${untracked}`.split('\0').filter((name) => name !== '')) {
    if (!existsSync(join(root, path))) rmSync(join(copy, path), { force: true });
    else {
      mkdirSync(dirname(join(copy, path)), { recursive: true });
      copyFileSync(join(root, path), join(copy, path));
    }
  }
  git(copy, ['add', '--all']);
  const author = ['-c', 'user.name=mutate', '-c', 'user.email=mutate@localhost'];
  git(copy, [
    ...author,
    'commit',
    '--quiet',
    '--allow-empty',
    '--no-verify',
    '-m',
    'The tree that is mutated',
  ]);
}

const WORKSPACES = ['packages', 'examples'];

function workspaces(root: string): string[] {
  const inner = WORKSPACES.flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
  );
  return ['.', 'bench', 'site', ...inner];
}

const installedFolders = (root: string): string[] =>
  workspaces(root)
    .map((path) => join(path, 'node_modules'))
    .filter((path) => existsSync(join(root, path)));

/** With turbo's cache, nothing is built again that did not change. */
const builtFolders = (root: string): string[] =>
  ['.turbo', ...workspaces(root).flatMap((path) => [join(path, 'dist'), join(path, 'build')])].filter(
    (path) => existsSync(join(root, path)),
  );

/** Links between packages are relative, so in the copy they lead to the packages of the copy. */
function linkFolder(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (NOT_LINKED.has(entry.name)) continue;
    if (entry.isDirectory()) linkFolder(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else linkFile(source, target);
  }
}

function linkFile(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    // Another file system has the folder of temporary files.
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    copyFileSync(from, to);
  }
}

function git(cwd: string, args: readonly string[]): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 30 });
}
