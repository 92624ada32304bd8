import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bindRanks, divideCores, divideNodes } from './binding.js';
import { parseList, readCores, type Core } from './topology.js';

/** Files as Linux has them for two sockets of two cores with two threads each. */
function twoSockets(): string {
  const system = mkdtempSync(join(tmpdir(), 'acc-topology-'));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(system, path)), { recursive: true });
    writeFileSync(join(system, path), `${text}\n`);
  };
  for (let cpu = 0; cpu < 8; cpu++) {
    write(`cpu/cpu${cpu}/topology/thread_siblings_list`, `${cpu % 4},${(cpu % 4) + 4}`);
  }
  // Cores of the sockets alternate, as on some machines.
  write('node/node0/cpulist', '0,2,4,6');
  write('node/node1/cpulist', '1,3,5,7');
  return system;
}

const CORES: readonly Core[] = [
  { node: 0, cpus: [0, 4] },
  { node: 0, cpus: [2, 6] },
  { node: 1, cpus: [1, 5] },
  { node: 1, cpus: [3, 7] },
];

describe('readCores', () => {
  it('reads cores and NUMA nodes, and leaves out CPUs that the process may not use', () => {
    const system = twoSockets();
    expect(readCores('Cpus_allowed_list:\t0-7\n', system)).toEqual(CORES);
    expect(readCores('Cpus_allowed_list:\t0,2-3\n', system)).toEqual([
      { node: 0, cpus: [0] },
      { node: 0, cpus: [2] },
      { node: 1, cpus: [3] },
    ]);
    rmSync(system, { recursive: true });
  });

  it('takes each CPU for a core of node 0 where nothing is described', () => {
    expect(readCores('Cpus_allowed_list:\t1-2\n', '/no/system')).toEqual([
      { node: 0, cpus: [1] },
      { node: 0, cpus: [2] },
    ]);
  });

  it("reads this machine's own files", () => {
    expect(readCores().flatMap(({ cpus }) => cpus).length).toBeGreaterThan(0);
  });
});

it('binds no ranks elsewhere than on Linux, and says so', () => {
  for (const platform of ['darwin', 'win32'] as const) {
    expect(bindRanks('none', 2, platform)).toBeUndefined();
    const refusal = {
      code: 'ACC_PLATFORM_UNSUPPORTED',
      message: expect.stringContaining(platform) as string,
    };
    expect(() => bindRanks('cores', 2, platform)).toThrow(expect.objectContaining(refusal));
  }
});

it('parses lists of the kernel', () => {
  expect(parseList('0-2,5')).toEqual([0, 1, 2, 5]);
  expect(parseList('')).toEqual([]);
});

describe('divideCores', () => {
  it('gives ranks whole cores, of one NUMA node where possible', () => {
    expect(divideCores(CORES, 2)).toEqual([
      { cpus: [0, 2, 4, 6], nodes: [0], threads: 2 },
      { cpus: [1, 3, 5, 7], nodes: [1], threads: 2 },
    ]);
    expect(divideCores(CORES, 3).map(({ cpus }) => cpus)).toEqual([
      [0, 4],
      [2, 6],
      [1, 3, 5, 7],
    ]);
  });

  it('divides the CPUs of cores among more ranks than cores', () => {
    const cpus = divideCores(CORES, 8).map((rank) => rank.cpus);
    expect(cpus).toEqual([[0], [4], [2], [6], [1], [5], [3], [7]]);
    expect(divideCores(CORES, 8)[0]!.threads).toBe(1);
  });

  it('refuses more ranks than CPUs', () => {
    expect(() => divideCores(CORES, 9)).toThrowError(expect.objectContaining({ code: 'ACC_CPU_BIND' }));
  });
});

describe('divideNodes', () => {
  it('lets ranks of a node share its CPUs', () => {
    const ranks = divideNodes(CORES, 4);
    expect(ranks.map(({ nodes }) => nodes)).toEqual([[0], [0], [1], [1]]);
    expect(ranks[3]).toEqual({ cpus: [1, 3, 5, 7], nodes: [1], threads: 1 });
  });

  it('gives one rank all nodes', () => {
    expect(divideNodes(CORES, 1)).toEqual([{ cpus: [0, 1, 2, 3, 4, 5, 6, 7], nodes: [0, 1], threads: 4 }]);
  });

  it('divides an odd number of ranks', () => {
    expect(divideNodes(CORES, 3).map(({ nodes, threads }) => [nodes, threads])).toEqual([
      [[0], 1],
      [[0], 1],
      [[1], 2],
    ]);
  });
});
