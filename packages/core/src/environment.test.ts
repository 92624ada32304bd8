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
  it('is one process where nothing is set', () => {
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
