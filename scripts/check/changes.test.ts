import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { baseCommit, changedFiles } from './changes.js';

function repository() {
  const root = mkdtempSync(join(tmpdir(), 'acc-changes-'));
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@localhost'];
  const git = (...args: string[]) =>
    execFileSync('git', [...author, ...args], { cwd: root, encoding: 'utf8' }).trim();
  const write = (path: string, text: string) => writeFileSync(join(root, path), text);
  const commit = () => {
    git('add', '--all');
    git('commit', '--quiet', '-m', 'A change');
    return git('rev-parse', 'HEAD');
  };
  git('init', '--quiet', '--initial-branch=main');
  return { root, git, write, commit };
}

it('changes since main are committed, uncommitted, new and deleted files', () => {
  const { root, git, write, commit } = repository();
  for (const name of ['committed', 'edited', 'gone', 'same']) write(name, 'before');
  write('.gitignore', 'ignored');
  const base = commit();
  git('checkout', '--quiet', '-b', 'branch');
  write('committed', 'now');
  commit();
  write('edited', 'now');
  write('added', 'now');
  write('ignored', 'now');
  rmSync(join(root, 'gone'));
  expect(baseCommit(root, undefined)).toBe(base);
  expect(changedFiles(root, base)).toEqual([
    { path: 'added', before: undefined, now: 'now' },
    { path: 'committed', before: 'before', now: 'now' },
    { path: 'edited', before: 'before', now: 'now' },
    { path: 'gone', before: 'before', now: undefined },
  ]);
  expect(changedFiles(root, baseCommit(root, 'HEAD')).map(({ path }) => path)).toEqual([
    'added',
    'edited',
    'gone',
  ]);
});

it('an unknown commit is refused', () => {
  const { root, write, commit } = repository();
  write('a', '');
  commit();
  expect(() => baseCommit(root, 'nowhere')).toThrow(expect.objectContaining({ code: 'ACC_CHECK_BASE' }));
});
