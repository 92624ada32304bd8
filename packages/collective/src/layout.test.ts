import { describe, expect, it } from 'vitest';
import { hostsOf, layoutOf } from './layout.js';

const members = ['10.0.0.2', '10.0.0.1', '10.0.0.2', '10.0.0.1', '10.0.0.3'].map((address) => ({ address }));

describe('the layout of a job', () => {
  it('numbers hosts by their first ranks, and ranks within a host', () => {
    expect(members.map((_, rank) => layoutOf(members, rank))).toEqual(
      [
        [0, 0, 2],
        [1, 0, 2],
        [0, 1, 2],
        [1, 1, 2],
        [2, 0, 1],
      ].map(([host, localRank, localSize]) => ({ host, localRank, localSize, hosts: 3, sharesHosts: true })),
    );
  });

  it('recognises that every rank is on its own host', () => {
    expect(layoutOf([{ address: '::1' }, { address: '::2' }], 1)).toMatchObject({
      hosts: 2,
      sharesHosts: false,
    });
  });
});

describe('the hosts of ranks', () => {
  const ranks = [
    { host: 'a', address: '10.0.0.1' },
    { host: 'a', address: '10.0.0.1' },
    { host: 'b', address: '10.0.0.2' },
  ];

  it('are known by their names', () => {
    expect(hostsOf(ranks)).toEqual(['a', 'a', 'b']);
  });

  it('are known by name and address if several have one name', () => {
    const named = ranks.map(({ address }) => ({ host: 'node', address }));
    const [first, second] = ['node (10.0.0.1)', 'node (10.0.0.2)'];
    expect(hostsOf(named)).toEqual([first, first, second]);
  });
});
