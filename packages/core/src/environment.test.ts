import { mkdtempSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readLaunchEnvironment } from './environment.js';

const torchrun = {
  RANK: '3',
  LOCAL_RANK: '1',
  WORLD_SIZE: '4',
  LOCAL_WORLD_SIZE: '2',
  MASTER_ADDR: '10.0.0.1',
  MASTER_PORT: '29500',
  ACC_JOB_TOKEN: 'secret',
};

describe('the launch environment', () => {
  it('is that of one process if nothing is set', () => {
    expect(readLaunchEnvironment({})).toMatchObject({ rank: 0, size: 1, localRank: 0, localSize: 1 });
  });

  it("is read from torchrun's variables", () => {
    expect(readLaunchEnvironment(torchrun)).toMatchObject({
      rank: 3,
      size: 4,
      localRank: 1,
      localSize: 2,
      masterAddress: '10.0.0.1',
      masterPort: 29500,
      jobToken: 'secret',
    });
  });

  it.each([
    ['RANK', undefined],
    ['RANK', '4'],
    ['RANK', '-1'],
    ['RANK', 'one'],
    ['WORLD_SIZE', '0'],
    ['MASTER_ADDR', undefined],
    ['MASTER_PORT', '70000'],
    ['LOCAL_WORLD_SIZE', '5'],
  ])('refuses %s = %s', (name, value) => {
    expect(() => readLaunchEnvironment({ ...torchrun, [name]: value })).toThrowError(
      expect.objectContaining({ code: 'ACC_ENVIRONMENT' }),
    );
  });
});

/** The variables that srun (Slurm 22.05) gave the last of three tasks on two nodes. */
const slurm = {
  SLURM_JOB_ID: '71',
  SLURM_STEP_ID: '0',
  SLURM_PROCID: '2',
  SLURM_LOCALID: '0',
  SLURM_NODEID: '1',
  SLURM_NTASKS: '3',
  SLURM_STEP_NUM_TASKS: '3',
  SLURM_STEP_NODELIST: 'acc[1-2]',
  SLURM_JOB_NODELIST: 'acc[1-2]',
  SLURM_STEP_TASKS_PER_NODE: '2,1',
  SLURM_TASKS_PER_NODE: '2,1',
};

describe("srun's environment", () => {
  it('gives ranks and the address of the first task', () => {
    const place = readLaunchEnvironment(slurm);
    expect(place).toMatchObject({ rank: 2, size: 3, localRank: 0, localSize: 1, masterAddress: 'acc1' });
    expect(place.masterPort).toBeGreaterThanOrEqual(15_000);
    expect(place.masterPort).toBeLessThan(30_000);
    const first = { ...slurm, SLURM_PROCID: '0', SLURM_NODEID: '0' };
    expect(readLaunchEnvironment(first)).toMatchObject({ rank: 0, localSize: 2, masterAddress: 'acc1' });
    expect(readLaunchEnvironment(first).masterPort).toBe(place.masterPort);
  });

  it('gives each step of a job different ports and tokens', () => {
    const [one, other] = [slurm, { ...slurm, SLURM_STEP_ID: '1' }].map((env) => readLaunchEnvironment(env));
    expect(one!.masterPort).not.toBe(other!.masterPort);
    expect(one!.jobToken).not.toBe(other!.jobToken);
  });

  it('is complete with the variables of a job on one node', () => {
    const few = { SLURM_PROCID: '1', SLURM_NTASKS: '2', SLURM_LOCALID: '1', SLURM_NODELIST: 'a' };
    expect(readLaunchEnvironment(few)).toMatchObject({
      rank: 1,
      size: 2,
      localSize: 2,
      masterAddress: '127.0.0.1',
    });
  });

  it('is ignored in the batch script itself', () => {
    const batch = {
      ENVIRONMENT: 'BATCH',
      SLURM_PROCID: '0',
      SLURM_NTASKS: '3',
      SLURM_JOB_NODELIST: 'acc[1-2]',
    };
    expect(readLaunchEnvironment(batch)).toMatchObject({ rank: 0, size: 1 });
  });

  it("comes after the user's own variables and those of other launchers", () => {
    const own = { ...slurm, MASTER_ADDR: '10.0.0.9', MASTER_PORT: '4000', ACC_JOB_TOKEN: 'mine' };
    expect(readLaunchEnvironment(own)).toMatchObject({
      rank: 2,
      masterAddress: '10.0.0.9',
      masterPort: 4000,
      jobToken: 'mine',
    });
    expect(readLaunchEnvironment({ ...slurm, ...torchrun })).toMatchObject({ rank: 3, size: 4 });
    expect(readLaunchEnvironment({ ...slurm, ...openMpi })).toMatchObject({ rank: 1, size: 2 });
  });

  it('is refused if it is inconsistent', () => {
    for (const [name, value] of [
      ['SLURM_PROCID', '3'],
      ['SLURM_NODEID', '2'],
      ['SLURM_STEP_TASKS_PER_NODE', 'many'],
    ] as const) {
      expect(() => readLaunchEnvironment({ ...slurm, [name]: value }), name).toThrowError(
        expect.objectContaining({ code: 'ACC_ENVIRONMENT' }),
      );
    }
  });
});

/** The variables that mpirun (Open MPI 4.1) gave the second of two processes on one host. */
const openMpi = {
  OMPI_COMM_WORLD_SIZE: '2',
  OMPI_COMM_WORLD_RANK: '1',
  OMPI_COMM_WORLD_LOCAL_SIZE: '2',
  OMPI_COMM_WORLD_LOCAL_RANK: '1',
  OMPI_MCA_orte_precondition_transports: '87c8d814c78ebcf3-c2957393066de802',
  PMIX_NAMESPACE: '927793153',
};

describe("mpirun's environment", () => {
  it('gives ranks and a token that belongs to the job', () => {
    expect(readLaunchEnvironment(openMpi)).toMatchObject({
      rank: 1,
      size: 2,
      localRank: 1,
      localSize: 2,
      masterAddress: '127.0.0.1',
      jobToken: openMpi.OMPI_MCA_orte_precondition_transports,
    });
  });

  it('needs MASTER_ADDR with several hosts', () => {
    const several = { ...openMpi, OMPI_COMM_WORLD_LOCAL_SIZE: '1', OMPI_COMM_WORLD_LOCAL_RANK: '0' };
    expect(() => readLaunchEnvironment(several)).toThrowError(
      expect.objectContaining({ code: 'ACC_ENVIRONMENT' }),
    );
    for (const masterAddress of ['head', '127.0.0.1']) {
      const place = readLaunchEnvironment({ ...several, MASTER_ADDR: masterAddress });
      expect(place).toMatchObject({ masterAddress });
    }
  });
});

/** The variables that jsrun gives the third of four processes on two hosts. */
const lsf = {
  LSB_JOBID: '4711',
  JSM_NAMESPACE_SIZE: '4',
  JSM_NAMESPACE_RANK: '2',
  JSM_NAMESPACE_LOCAL_SIZE: '2',
  JSM_NAMESPACE_LOCAL_RANK: '0',
};

function hostsFile(...hosts: readonly string[]): string {
  const file = join(mkdtempSync(join(tmpdir(), 'acc-lsf-')), 'hosts');
  writeFileSync(file, `${hosts.join('\n')}\n`);
  return file;
}

describe("jsrun's environment", () => {
  it.each([
    ['the first host', ['a1', 'a1', 'a2', 'a2']],
    ['the host after the one that launches', ['batch2', 'a1', 'a1', 'a2', 'a2']],
  ])('gives ranks, and %s of the list', (_, hosts) => {
    const place = readLaunchEnvironment({ ...lsf, LSB_DJOB_HOSTFILE: hostsFile(...hosts) });
    expect(place).toMatchObject({ rank: 2, size: 4, localRank: 0, localSize: 2, masterAddress: 'a1' });
    expect(place.jobToken).toBe('lsf 4711');
  });

  it('needs MASTER_ADDR if the list does not tell where rank 0 is', () => {
    const uneven = { ...lsf, JSM_NAMESPACE_SIZE: '3' };
    const missing = { ...lsf, LSB_DJOB_HOSTFILE: '/no/such/file' };
    const some = { ...lsf, LSB_DJOB_HOSTFILE: hostsFile('batch', 'a1', 'a2', 'a3', 'a4') };
    for (const env of [{ ...uneven, LSB_DJOB_HOSTFILE: hostsFile('a1', 'a2') }, missing, some, lsf]) {
      expect(() => readLaunchEnvironment(env)).toThrowError(
        expect.objectContaining({ code: 'ACC_ENVIRONMENT', help: expect.stringContaining('MASTER_ADDR') }),
      );
      expect(readLaunchEnvironment({ ...env, MASTER_ADDR: 'head' }).masterAddress).toBe('head');
    }
  });

  it("gives mpirun's processes on several hosts the host of rank 0", () => {
    const several = { ...openMpi, OMPI_COMM_WORLD_LOCAL_SIZE: '1', OMPI_COMM_WORLD_LOCAL_RANK: '0' };
    const env = { ...several, LSB_DJOB_HOSTFILE: hostsFile('a1', 'a2') };
    expect(readLaunchEnvironment(env).masterAddress).toBe('a1');
  });
});

it('each pod of a PyTorchJob of Kubeflow has one rank, also the pod that MASTER_ADDR names', () => {
  const pod = { PET_NNODES: '2', WORLD_SIZE: '2', MASTER_PORT: '23456' };
  for (const RANK of ['0', '1']) {
    const place = readLaunchEnvironment({ ...pod, RANK, MASTER_ADDR: hostname() });
    expect(place).toMatchObject({ rank: Number(RANK), localRank: 0, localSize: 1 });
  }
});

it('each pod of a TrainJob of Kubeflow has one rank, and its launcher has the variables of ranks', () => {
  const pod = {
    PET_NNODES: '2',
    PET_NPROC_PER_NODE: '4',
    PET_NODE_RANK: '1',
    PET_MASTER_ADDR: 'train-node-0-0',
  };
  const place = {
    rank: 1,
    size: 2,
    localRank: 0,
    localSize: 1,
    masterAddress: 'train-node-0-0',
    masterPort: 29_400,
  };
  const env = { ...pod, PET_MASTER_PORT: '29400' };
  expect(readLaunchEnvironment(env)).toMatchObject(place);
  const launched = { WORLD_SIZE: '8', RANK: '5', LOCAL_WORLD_SIZE: '4', MASTER_ADDR: 'a', MASTER_PORT: '1' };
  expect(readLaunchEnvironment({ ...env, ...launched })).toMatchObject({ rank: 5, size: 8, localSize: 4 });
  const byMpirun = { OMPI_COMM_WORLD_SIZE: '4', OMPI_COMM_WORLD_RANK: '3', OMPI_COMM_WORLD_LOCAL_SIZE: '4' };
  const inPod = { ...env, ...byMpirun, OMPI_COMM_WORLD_LOCAL_RANK: '3' };
  expect(readLaunchEnvironment(inPod)).toMatchObject({ rank: 3, size: 4, localSize: 4 });
  expect(readLaunchEnvironment({ PET_NNODES: '1', PET_NODE_RANK: '0' })).toMatchObject({ rank: 0, size: 1 });
  for (const wrong of [pod, { ...env, PET_NNODES: '' }, { ...env, PET_NODE_RANK: '2' }]) {
    expect(() => readLaunchEnvironment(wrong)).toThrow(expect.objectContaining({ code: 'ACC_ENVIRONMENT' }));
  }
});
