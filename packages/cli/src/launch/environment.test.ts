import { describe, expect, it } from 'vitest';
import { rankVariables, tensorflowThreads, threadsPerRank } from './environment.js';

const job = {
  threads: 2,
  tensorflowThreads: 2,
  restarts: { count: 1, max: 3 },
  libtorch: '/opt/libtorch',
  networkInterface: undefined,
};
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
    expect(rankVariables(place, 2, job, 1)).toEqual({
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
      TORCHELASTIC_RESTART_COUNT: '1',
      TORCHELASTIC_MAX_RESTARTS: '3',
      ACC_JOB_TOKEN: 'secret',
      ACC_LIBTORCH: '/opt/libtorch',
    });
  });

  it("keeps the user's own variables if the job sets none", () => {
    const none = {
      ...job,
      threads: undefined,
      tensorflowThreads: undefined,
      restarts: undefined,
      libtorch: undefined,
    };
    const names = Object.keys(rankVariables({ ...place, jobToken: undefined }, 1, none, 0));
    expect(names).not.toContain('OMP_NUM_THREADS');
    expect(names).not.toContain('TF_NUM_INTRAOP_THREADS');
    expect(names).not.toContain('ACC_JOB_TOKEN');
    expect(names).not.toContain('TORCHELASTIC_RESTART_COUNT');
    expect(names).not.toContain('ACC_LIBTORCH');
    expect(names).not.toContain('GLOO_SOCKET_IFNAME');
  });

  it('passes the network interface on', () => {
    const variables = rankVariables(place, 2, { ...job, networkInterface: 'eth1' }, 0);
    expect(variables).toMatchObject({ GLOO_SOCKET_IFNAME: 'eth1', NCCL_SOCKET_IFNAME: 'eth1' });
  });
});

describe('threadsPerRank', () => {
  it('divides the cores, with at least one for each rank', () => {
    expect(threadsPerRank({ nproc: 3, threads: undefined }, {}, 8)).toBe(2);
    expect(threadsPerRank({ nproc: 3, threads: undefined }, {}, 2)).toBe(1);
  });

  it("prefers --threads to OMP_NUM_THREADS, and the user's value to ours", () => {
    expect(threadsPerRank({ nproc: 2, threads: 5 }, { OMP_NUM_THREADS: '3' }, 8)).toBe(5);
    expect(threadsPerRank({ nproc: 2, threads: undefined }, { OMP_NUM_THREADS: '3' }, 8)).toBeUndefined();
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
