import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readEnvironment } from './environment.js';

describe('readEnvironment', () => {
  it('caches below the home folder by default', () => {
    expect(readEnvironment({})).toEqual({
      libtorch: undefined,
      libtorchUrl: undefined,
      cacheDir: join(homedir(), '.cache', 'acc'),
      isMpiTask: false,
    });
  });

  it.each(['OMPI_COMM_WORLD_RANK', 'PMI_RANK', 'PMIX_RANK', 'SLURM_PROCID'])(
    'knows a task of MPI by %s',
    (name) => {
      expect(readEnvironment({ [name]: '0' }).isMpiTask).toBe(true);
      expect(readEnvironment({ RANK: '0', WORLD_SIZE: '2', SLURM_JOB_ID: '7' }).isMpiTask).toBe(false);
    },
  );

  it('respects XDG_CACHE_HOME, and prefers ACC_CACHE_DIR', () => {
    expect(readEnvironment({ XDG_CACHE_HOME: '/x' }).cacheDir).toBe('/x/acc');
    expect(readEnvironment({ XDG_CACHE_HOME: '/x', ACC_CACHE_DIR: '/y' }).cacheDir).toBe('/y');
    expect(readEnvironment({ XDG_CACHE_HOME: 'relative' }).cacheDir).toBe(join(homedir(), '.cache', 'acc'));
  });

  it('makes paths absolute and treats an empty value as unset', () => {
    expect(readEnvironment({ ACC_LIBTORCH: 'a' }).libtorch).toBe(resolve('a'));
    expect(readEnvironment({ ACC_LIBTORCH: '', ACC_LIBTORCH_URL: '' })).toMatchObject({
      libtorch: undefined,
      libtorchUrl: undefined,
    });
  });
});
