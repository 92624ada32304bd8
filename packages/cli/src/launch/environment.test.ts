import module from 'node:module';
import { describe, expect, it } from 'vitest';
import {
  compileCacheFolder,
  rankVariables,
  shareOfCores,
  tensorflowThreads,
  threadsPerRank,
} from './environment.js';

const job = {
  restarts: { count: 2, failed: 1, max: 3 },
  libtorch: '/opt/libtorch',
  networkInterface: undefined,
  compileCache: '/cache/compiled',
  rescues: undefined,
};
const rank = { localRank: 1, nproc: 2, threads: { openmp: 2, tensorflow: 2 } };
const place = {
  nnodes: 3,
  nodeRank: 1,
  firstRank: 2,
  worldSize: 6,
  endpoint: { host: '127.0.0.1', port: 4000 },
  jobToken: 'secret',
};

describe('rankVariables', () => {
  it('uses the variables of torchrun', () => {
    expect(rankVariables(place, job, rank)).toEqual({
      RANK: '3',
      LOCAL_RANK: '1',
      WORLD_SIZE: '6',
      LOCAL_WORLD_SIZE: '2',
      GROUP_RANK: '1',
      GROUP_WORLD_SIZE: '3',
      MASTER_ADDR: '127.0.0.1',
      MASTER_PORT: '4000',
      OMP_NUM_THREADS: '2',
      TF_NUM_INTRAOP_THREADS: '2',
      TF_NUM_INTEROP_THREADS: '2',
      ACC_RESTART_COUNT: '2',
      ACC_MAX_RESTARTS: '3',
      TORCHELASTIC_RESTART_COUNT: '1',
      TORCHELASTIC_MAX_RESTARTS: '3',
      ACC_JOB_TOKEN: 'secret',
      ACC_LIBTORCH: '/opt/libtorch',
      NODE_COMPILE_CACHE: '/cache/compiled',
    });
  });

  it("keeps the user's own variables if the job sets none", () => {
    const none = { ...job, restarts: undefined, libtorch: undefined, compileCache: undefined };
    const threads = { openmp: undefined, tensorflow: undefined };
    const names = Object.keys(
      rankVariables({ ...place, jobToken: undefined }, none, { localRank: 0, nproc: 1, threads }),
    );
    expect(names).not.toContain('OMP_NUM_THREADS');
    expect(names).not.toContain('TF_NUM_INTRAOP_THREADS');
    expect(names).not.toContain('ACC_JOB_TOKEN');
    expect(names).not.toContain('TORCHELASTIC_RESTART_COUNT');
    expect(names).not.toContain('ACC_LIBTORCH');
    expect(names).not.toContain('NODE_COMPILE_CACHE');
    expect(names).not.toContain('GLOO_SOCKET_IFNAME');
  });

  it('passes the network interface on', () => {
    const variables = rankVariables(place, { ...job, networkInterface: 'eth1' }, rank);
    expect(variables).toMatchObject({ GLOO_SOCKET_IFNAME: 'eth1', NCCL_SOCKET_IFNAME: 'eth1' });
  });
});

describe('threadsPerRank', () => {
  it("is the rank's share of the cores, at least one", () => {
    expect(threadsPerRank({ threads: undefined }, {}, shareOfCores(8, 3))).toBe(2);
    expect(threadsPerRank({ threads: undefined }, {}, shareOfCores(2, 3))).toBe(1);
  });

  it("prefers --threads to OMP_NUM_THREADS, and the user's value to ours", () => {
    expect(threadsPerRank({ threads: 5 }, { OMP_NUM_THREADS: '3' }, 4)).toBe(5);
    expect(threadsPerRank({ threads: undefined }, { OMP_NUM_THREADS: '3' }, 4)).toBeUndefined();
  });
});

describe('tensorflowThreads', () => {
  it('are those of the rank, unless the user sets them', () => {
    expect(tensorflowThreads(3, {})).toBe(3);
    expect(tensorflowThreads(undefined, { OMP_NUM_THREADS: '4' })).toBe(4);
    expect(tensorflowThreads(undefined, {})).toBeUndefined();
    expect(tensorflowThreads(3, { TF_NUM_INTEROP_THREADS: '1' })).toBeUndefined();
  });
});

it.each(['NODE_COMPILE_CACHE', 'NODE_DISABLE_COMPILE_CACHE', 'NODE_V8_COVERAGE'])(
  "leaves Node's cache of compiled modules as it is with %s",
  (name) => {
    expect(compileCacheFolder('/cache', { [name]: '1' })).toBeUndefined();
    const expected = 'enableCompileCache' in module ? '/cache/compiled' : undefined;
    expect(compileCacheFolder('/cache', { [name]: '' })).toBe(expected);
  },
);
