import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runAcc } from '../../../fixtures/run-acc.js';
import type { LaunchOptions } from '../options.js';
import { clusterFile, type PrintOptions } from './print.js';

const slurm = { cluster: 'slurm' } as const;
const k8s = { cluster: 'k8s', image: 'registry/train:1' } as const;
const codeOf = (options: Partial<LaunchOptions>, print: PrintOptions = slurm): string => {
  try {
    clusterFile({ script: 'train.ts', ...options }, print);
  } catch (error) {
    return (error as { code: string }).code;
  }
  return 'none';
};

describe('acc launch --print', () => {
  it('writes only the file, and does not need the script', async () => {
    const args = ['launch', '--print', 'slurm', '-n', '4', '--nnodes', '2', 'src/my train.ts', '--lr', '0.1'];
    const { code, stdout, stderr } = await runAcc(args);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^#!\/bin\/sh\n/);
    expect(stdout).toMatch(/^#SBATCH --job-name=my-train\n#SBATCH --nodes=2$/m);
    expect(stdout).toMatch(/^#SBATCH --cpus-per-task=4$/m);
    expect(stdout).toMatch(/' acc 'src\/my train\.ts' --lr 0\.1\n$/);
  });

  it('gives each host the options that are the same on all', () => {
    const options = { nproc: 2, threads: 3, maxRestarts: 1, cpuBind: 'cores', logDir: 'a b' } as const;
    const switches = { oversubscribe: true, prefix: false };
    const script = clusterFile({ script: 'a.ts', ...options, ...switches }, slurm);
    expect(script).toContain('#SBATCH --cpus-per-task=6');
    expect(script).toContain(
      `--max-restarts 1 --cpu-bind cores --log-dir '\\''a b'\\'' --oversubscribe --no-prefix `,
    );
    const [, job] = parseAllDocuments(clusterFile({ script: 'a.ts', ...options }, k8s));
    const container = ['spec', 'template', 'spec', 'containers', 0];
    expect(job!.getIn([...container, 'resources', 'limits', 'cpu'])).toBe('6');
  });

  it('has a service for several pods, and another secret each time', () => {
    const files = [1, 2, 2].map((nnodes) => clusterFile({ script: 'a.ts', nnodes }, k8s));
    const kinds = files.map((file) => parseAllDocuments(file).map((document) => document.get('kind')));
    expect(kinds).toEqual([
      ['Secret', 'Job'],
      ['Secret', 'Service', 'Job'],
      ['Secret', 'Service', 'Job'],
    ]);
    expect(files[1]).not.toBe(files[2]);
  });

  it('refuses what the file sets itself, and what it cannot know', () => {
    expect(codeOf({ nodeRank: 0 })).toBe('ACC_BAD_OPTION');
    expect(codeOf({ rdzvEndpoint: 'a' })).toBe('ACC_BAD_OPTION');
    expect(codeOf({ rdzvBackend: 'etcd' })).toBe('ACC_BAD_OPTION');
    expect(codeOf({ nproc: 'auto' })).toBe('ACC_BAD_OPTION');
    expect(codeOf({ nnodes: 0 })).toBe('ACC_BAD_OPTION');
    expect(codeOf({ nnodes: '1:2' })).toBe('ACC_BAD_OPTION');
    expect(codeOf({}, { cluster: 'k8s' })).toBe('ACC_MISSING_OPTION');
    expect(codeOf({}, { ...slurm, image: 'x' })).toBe('ACC_BAD_OPTION');
    expect(codeOf({}, { ...slurm, jobName: 'My Job' })).toBe('ACC_BAD_OPTION');
  });

  it('takes ranks of all hosts whose output is shown', () => {
    const options = { nproc: 4, nnodes: 2, logDir: 'l' };
    expect(clusterFile({ script: 'a.ts', ...options, tee: [5] }, slurm)).toContain('--log-dir l --tee 5 ');
    expect(codeOf({ ...options, tee: [8] })).toBe('ACC_BAD_OPTION');
  });

  it('says why an option is left out', () => {
    const messageOf = (options: Partial<LaunchOptions>): string => {
      try {
        return clusterFile({ script: 'a.ts', ...options }, slurm);
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(messageOf({ nodeRank: 0 })).toContain('because the printed file sets it');
    expect(messageOf({ dryRun: true })).toContain('which starts nothing either');
  });

  it('refuses other clusters, and --image and --job-name without --print', async () => {
    for (const option of ['--print', '--image', '--job-name']) {
      const { code, stderr } = await runAcc(['launch', option, 'x', 'train.ts']);
      expect(code).toBe(2);
      expect(stderr).toContain('ACC_BAD_OPTION');
    }
  });
});
