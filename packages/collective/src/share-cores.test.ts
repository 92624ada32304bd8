import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';
import type { Member } from './member.js';
import { allowedCores, coresOfRank } from './share-cores.js';

const member = (host: string, cpus: string): Member => ({
  rank: 0,
  host,
  address: host,
  cpus,
  pid: 1,
  size: 4,
  wish: { choice: 'auto' },
  id: '',
});

it('ranks that may run on the same cores share them', () => {
  const members = [member('a', '0-7'), member('a', '0-7'), member('b', '0-7')];
  expect(members.map((_, rank) => coresOfRank(members, rank, 8))).toEqual([4, 4, 8]);
  expect(coresOfRank([members[0]!, members[1]!], 0, 1)).toBe(1);
});

it('ranks that are bound to different cores keep them', () => {
  const members = [member('a', '0-3'), member('a', '4-7')];
  expect(coresOfRank(members, 1, 4)).toBe(4);
});

it('reads the available cores from the system', () => {
  expect([allowedCores('darwin'), allowedCores('win32')]).toEqual([undefined, undefined]);
  const list = allowedCores();
  if (process.platform !== 'linux') return expect(list).toBeUndefined();
  const count = list!
    .split(',')
    .map((range) => range.split('-').map(Number))
    .reduce((sum, [first, last = first]) => sum + last! - first! + 1, 0);
  expect(count).toBe(availableParallelism());
});
