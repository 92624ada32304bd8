import { describe, expect, it } from 'vitest';
import { hostList, perNode } from './slurm-lists.js';

describe("Slurm's lists", () => {
  it.each([
    ['node1', ['node1']],
    ['a,b', ['a', 'b']],
    ['gpu[01-03,7],login', ['gpu01', 'gpu02', 'gpu03', 'gpu7', 'login']],
    ['n[9-11]', ['n9', 'n10', 'n11']],
    ['r[1-2]c[3,5]-ib', ['r1c3-ib', 'r1c5-ib', 'r2c3-ib', 'r2c5-ib']],
    ['', []],
  ])('of hosts: %s', (list, hosts) => expect(hostList(list)).toEqual(hosts));

  it.each([
    ['4', [4]],
    ['2(x3),1', [2, 2, 2, 1]],
  ])('of counts: %s', (counts, numbers) => expect(perNode(counts)).toEqual(numbers));
});
