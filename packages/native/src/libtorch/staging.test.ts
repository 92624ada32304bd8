import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { claimPartialFile, createStaging } from './staging.js';
import { temporaryFolder, writeFiles } from './test-support.js';

/** The id of a process that has ended. */
const endedPid = () => spawnSync(process.execPath, ['-e', '']).pid;

describe('createStaging', () => {
  it('publishes by rename and leaves nothing behind', () => {
    using folder = temporaryFolder();
    const destination = join(folder.path, 'final');
    {
      using staging = createStaging(folder.path);
      writeFiles(staging.path, { 'out/file': 'mine' });
      expect(staging.publish(join(staging.path, 'out'), destination)).toBe(true);
    }
    expect(readdirSync(folder.path)).toEqual(['final']);
  });

  it('keeps what another process published first', () => {
    using folder = temporaryFolder();
    const destination = join(folder.path, 'final');
    writeFiles(destination, { file: 'theirs' });
    using staging = createStaging(folder.path);
    writeFiles(staging.path, { 'out/file': 'mine' });
    expect(staging.publish(join(staging.path, 'out'), destination)).toBe(false);
    expect(readFileSync(join(destination, 'file'), 'utf8')).toBe('theirs');
  });

  it('removes what ended processes of this host left, and nothing else', () => {
    using folder = temporaryFolder();
    const ended = join(folder.path, `.staging-0~${hostname()}~${endedPid()}`);
    const living = join(folder.path, `.staging-1~${hostname()}~${process.pid}`);
    const foreign = join(folder.path, `.staging-2~another-host~${endedPid()}`);
    for (const left of [ended, living, foreign]) writeFiles(left, { file: '' });
    using _staging = createStaging(folder.path);
    expect([ended, living, foreign].map((path) => existsSync(path))).toEqual([false, true, true]);
  });
});

describe('claimPartialFile', () => {
  it('takes over the partial file of an ended process, but not of a running one', () => {
    using folder = temporaryFolder();
    const parent = join(folder.path, 'parent');
    writeFiles(parent, {
      [`a.zip~${hostname()}~${process.ppid}`]: 'in use',
      [`a.zip~${hostname()}~${endedPid()}`]: 'half',
      [`b.zip~${hostname()}~${endedPid()}`]: 'another file',
    });
    expect(readFileSync(claimPartialFile(parent, 'a.zip'), 'utf8')).toBe('half');
    expect(existsSync(join(parent, `a.zip~${hostname()}~${process.ppid}`))).toBe(true);
    expect(existsSync(claimPartialFile(parent, 'c.zip'))).toBe(false);
  });
});
