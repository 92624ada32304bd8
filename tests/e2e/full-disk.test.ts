import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const acc = fileURLToPath(new URL('../../packages/cli/bin/acc.js', import.meta.url));
const script = fileURLToPath(new URL('./ranks/full-disk.ts', import.meta.url));

const root = mkdtempSync(join(tmpdir(), 'acc-full-'));
afterAll(() => {
  for (const disk of readdirSync(root)) execFileSync('umount', [join(root, disk)]);
  rmSync(root, { recursive: true });
});

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly disk: string;
}

/** Launches two ranks whose project is on a disk of 256 KiB. Mounting needs root. */
function launch(way: string): Ended {
  const disk = join(root, way);
  mkdirSync(disk);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'acc-test', disk]);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [acc, 'launch', '-n', '2', '--threads', '1', '--max-restarts', '1', script, way, disk],
    { encoding: 'utf8', timeout: 240_000 },
  );
  return { status, stdout, stderr, disk };
}

const times = (text: string, what: RegExp) => text.match(new RegExp(what, 'g'))?.length ?? 0;
const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

describe('a disk that is full at the end of a recorded training', () => {
  let ended: Ended;
  beforeAll(() => void (ended = launch('log')));

  it('does not make the training fail, nor start again', () => {
    expect(ended.status, ended.stderr).toBe(0);
    expect(times(ended.stdout, /a start/)).toBe(2);
    expect(times(ended.stdout, /the end/)).toBe(2);
  });

  it('is reported once for each tracker, with what is lost', () => {
    for (const name of ['jsonl', 'csv', 'tensorboard']) {
      const said = ended.stderr.split('\n').filter((line) => line.includes(`tracker ${name}: `));
      expect(said.filter((line) => line.includes('Logged data is kept'))).toHaveLength(1);
      expect(said.filter((line) => /\b\d+ entr(y is|ies are) lost/.test(line))).toHaveLength(1);
    }
    expect(ended.stderr).not.toMatch(/ at .*\.js:\d+/);
  });

  it('leaves the record of a completed run, whole lines, and no drafts', () => {
    const [run] = readdirSync(join(ended.disk, 'runs', 'full'));
    const dir = join(ended.disk, 'runs', 'full', run!);
    expect(JSON.parse(readFileSync(join(dir, 'run.json'), 'utf8'))).toMatchObject({ status: 'completed' });
    const lines = readFileSync(join(dir, 'metrics.jsonl'), 'utf8').trimEnd().split('\n');
    const losses = lines.map((line) => (JSON.parse(line) as { loss: number }).loss);
    expect(losses).toEqual([0, 1, 2]);
    const rows = readFileSync(join(dir, 'metrics.csv'), 'utf8').trimEnd().split('\n');
    expect(rows.map((row) => row.split(',').length)).toEqual([3, 3, 3, 3]);
    const names = filesIn(dir).filter((name) => !name.includes('tfevents'));
    expect(names.sort()).toEqual(['metrics.csv', 'metrics.jsonl', 'run.json']);
  });
});

describe('a background save that fails in a program that ends without asking', () => {
  it.each([
    ['all', [0, 1]],
    ['last', [1]],
  ])('on %s, is reported once by each rank that could not write', (way, ranks) => {
    const { status, stdout, stderr, disk } = launch(way);
    expect(status, stderr).toBe(0);
    expect(times(stdout, /a start/)).toBe(2);
    const said = stderr.split('\n').filter((line) => line.includes('ACC_CHECKPOINT_SAVE_FAILED'));
    expect(said.sort(), stderr).toEqual(
      ranks.map((rank) => expect.stringMatching(new RegExp(`rank ${rank}: .*ENOSPC`)) as string),
    );
    expect(filesIn(disk).filter((name) => name.endsWith('.safetensors'))).toEqual([]);
    if (way === 'last') expect(filesIn(disk)).toEqual([]);
  });
});
