import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
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

  it('replaces a folder that other processes replace at the same time', async () => {
    using folder = temporaryFolder();
    const program = `
      import { mkdirSync, writeFileSync } from 'node:fs';
      import { createStaging } from '${new URL('../../dist/install-tools.js', import.meta.url).href}';
      for (let i = 0; i < 60; i++) {
        const staging = createStaging(${JSON.stringify(folder.path)});
        mkdirSync(staging.path + '/out');
        for (let k = 0; k < 20; k++) writeFileSync(staging.path + '/out/' + k, '');
        staging.replace(staging.path + '/out', ${JSON.stringify(join(folder.path, 'final'))});
      }`;
    const run = promisify(execFile);
    const runs = [1, 2, 3].map(() => run(process.execPath, ['--input-type=module', '--eval', program]));
    expect((await Promise.all(runs)).map(({ stderr }) => stderr)).toEqual(['', '', '']);
    expect(readdirSync(join(folder.path, 'final'))).toHaveLength(20);
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
