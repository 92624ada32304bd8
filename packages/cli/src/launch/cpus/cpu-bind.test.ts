import { describe, expect, it } from 'vitest';
import { fixture, runAcc } from '../../../fixtures/run-acc.js';
import { divideCores, divideNodes } from './binding.js';
import { parseList, readCores } from './topology.js';

interface Reported {
  readonly rank: string;
  /** The lists of CPUs of the threads. */
  readonly cpus: readonly string[];
  readonly threads: string;
}

/** The CPUs and threads of each rank as /proc shows them, in the order of ranks. */
async function launched(nproc: number, bind: string): Promise<Reported[]> {
  const args = ['launch', '-n', String(nproc), '--no-prefix', '--cpu-bind', bind, fixture('cpus.mjs')];
  const { code, stdout, stderr } = await runAcc(args);
  expect(code, stderr).toBe(0);
  const reported = stdout.trim().split('\n');
  return reported.map((line) => JSON.parse(line) as Reported).sort((a, b) => Number(a.rank) - Number(b.rank));
}

const cores = readCores();
const cpus = cores.flatMap((core) => core.cpus);
/** As many ranks as this machine can bind, at most two. */
const ranks = Math.min(2, cpus.length);

describe('acc launch --cpu-bind', () => {
  it('cores: every thread of a rank runs on cores of its own', async () => {
    const reported = await launched(ranks, 'cores');
    const expected = divideCores(cores, ranks);
    expect(reported.map((rank) => rank.cpus.map(parseList))).toEqual(expected.map((rank) => [rank.cpus]));
    expect(reported.map(({ threads }) => Number(threads))).toEqual(expected.map(({ threads }) => threads));
  });

  it('numa: every thread of a rank runs on its NUMA node', async () => {
    const reported = await launched(ranks, 'numa');
    const expected = divideNodes(cores, ranks);
    expect(reported.map((rank) => rank.cpus.map(parseList))).toEqual(expected.map((rank) => [rank.cpus]));
  });

  it('refuses more ranks than CPUs before it starts any', async () => {
    const args = ['launch', '-n', String(cpus.length + 1), '--cpu-bind', 'cores', fixture('cpus.mjs')];
    const { code, stdout, stderr } = await runAcc(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('ACC_CPU_BIND');
  });

  it('refuses an unknown way', async () => {
    const { code, stderr } = await runAcc(['launch', '--cpu-bind', 'socket', fixture('cpus.mjs')]);
    expect(code).toBe(2);
    expect(stderr).toContain('ACC_BAD_OPTION');
  });
});
