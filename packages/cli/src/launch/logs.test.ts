import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fixture, runAcc } from '../../fixtures/run-acc.js';
import { appendToLog, LogFile } from './log-file.js';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'acc-logs-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const log = (name: string, attempt = 0): string =>
  readFileSync(join(folder, `logs/attempt-${attempt}`, name), 'utf8');
const options = (): string[] => ['launch', '-n', '2', '--log-dir', join(folder, 'logs')];

describe('acc launch --log-dir', () => {
  it('writes the output of each rank as it is, and shows the ranks of --tee', async () => {
    const run = await runAcc([...options(), '--tee', '1', fixture('output.mjs')], { input: '' });
    expect(run.code, run.stderr).toBe(0);
    for (const rank of [0, 1]) {
      const text = log(`rank-${rank}.stdout.log`);
      expect(text).toContain(`line 19 of ${rank} — ${'ä'.repeat(20)}\n`);
      // As the program wrote it: rewritten lines, and no line end at the end.
      expect(text).toContain('step 1\rstep 2\rstep 3\n');
      expect(text.endsWith('no line end')).toBe(true);
      expect(log(`rank-${rank}.stderr.log`)).toBe('to stderr');
    }
    expect(run.stdout).toMatch(/^\[1\] line 0 of 1/m);
    expect(run.stdout).not.toContain('[0]');
    expect(run.stderr).toBe('[1] to stderr\n');
  });

  it('shows nothing without --tee but the end of a rank that failed, and its file', async () => {
    const run = await runAcc([...options(), fixture('fail.mjs'), folder, 'throw']);
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toMatch(/^acc: rank 1 failed, .*\nacc: rank 1 of 2 .*exit code 1/);
    expect(run.stderr).toContain(`all of its stderr: ${join(folder, 'logs/attempt-0/rank-1.stderr.log')}`);
    expect(log('rank-1.stderr.log')).toContain('rank 1 is out of luck');
  });

  it('has a folder for each restart, appends to the files of an earlier job, and logs a single rank', async () => {
    const one = ['launch', '--log-dir', join(folder, 'logs'), '--max-restarts', '1'];
    for (let job = 0; job < 2; job++) {
      const { code, stdout } = await runAcc([...one, fixture('restarts.mjs')]);
      expect([code, stdout]).toEqual([0, '']);
    }
    expect(readdirSync(join(folder, 'logs')).sort()).toEqual(['attempt-0', 'attempt-1']);
    expect(log('rank-0.stdout.log')).toBe('start 0 of 1\n'.repeat(2));
    expect(log('rank-0.stdout.log', 1)).toBe('start 1 of 1\n'.repeat(2));
  });

  it('refuses a folder that cannot be written to, and --tee alone', async () => {
    writeFileSync(join(folder, 'logs'), 'a file');
    const taken = await runAcc([...options(), fixture('output.mjs')]);
    expect([taken.code, taken.stdout]).toEqual([2, '']);
    expect(taken.stderr).toContain('ACC_LOG_NOT_WRITABLE');
    const alone = await runAcc(['launch', '--tee', 'all', fixture('output.mjs')]);
    expect(alone.stderr).toContain('ACC_MISSING_OPTION');
  });
});

it.skipIf(process.platform !== 'linux')(
  'says once that a file of a full disk is incomplete, and goes on',
  () => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const file = new LogFile('/dev/full');
    for (let i = 0; i < 2; i++) file.write(Buffer.from('a line'));
    const isAppended = appendToLog('/dev/full', 'an error');
    const texts = written.mock.calls.map(([text]) => String(text));
    written.mockRestore();
    expect(isAppended).toBe(false);
    expect(texts).toHaveLength(2);
    for (const text of texts) expect(text).toMatch(/^acc: \/dev\/full is incomplete, .*ENOSPC/);
  },
);

describe('acc launch --dry-run', () => {
  it('prints commands that a shell can run, and starts nothing', async () => {
    const job = ['--nnodes', '2', '--node-rank', '1', '--rdzv-endpoint', '127.0.0.1:4000'];
    const marker = join(folder, 'was started');
    const script = join(folder, "it's.mjs");
    writeFileSync(
      script,
      `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(marker)}, '');`,
    );
    const run = await runAcc([...options(), ...job, '--dry-run', script, '--lr', '0.1']);
    expect(run, run.stderr).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(marker)).toBe(false);
    expect(existsSync(join(folder, 'logs'))).toBe(false);
    expect(run.stdout).toMatch(/^# rank 2 of 4, on host 1 of 2$/m);
    expect(run.stdout).toMatch(/^# rank 3 of 4, on host 1 of 2$/m);
    expect(run.stdout).toMatch(/^RANK=3 LOCAL_RANK=1 WORLD_SIZE=4 .*MASTER_PORT=4000 .* --lr 0\.1$/m);
    writeFileSync(join(folder, 'job.sh'), run.stdout);
    const { status } = spawnSync('sh', [join(folder, 'job.sh')]);
    expect(status).toBe(0);
    expect(existsSync(marker)).toBe(true);
  });

  it('names what is chosen at the start, and shows CPUs and threads', async () => {
    const run = await runAcc(['launch', '--dry-run', '--cpu-bind', 'numa', fixture('cpus.mjs')]);
    expect(run.stdout).toMatch(/^# CPUs: [\d,]+ \(NUMA nodes? [\d, ]+\)$/m);
    expect(run.stdout).toContain("MASTER_PORT='<a free port>'");
    expect(run.stdout).toContain("ACC_JOB_TOKEN='<a random secret>'");
    expect(run.stdout).toMatch(/ taskset -c [\d,]+ \S*node /);
  });
});
