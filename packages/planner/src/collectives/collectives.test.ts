import { describe, expect, it } from 'vitest';
import { hopsOf, linkBetween, NETWORKS } from '../hardware/links.js';
import * as collectives from './collectives.js';

const LINK = { bytesPerSecond: 100e9, latencySeconds: 2e-6 };
const { ringAllReduce, treeAllReduce, reduceScatter, broadcast, hierarchicalAllReduce, allReduceSeconds } =
  collectives;

describe('α–β', () => {
  it('a ring takes 2(n−1)α + 2(n−1)/n·S/β, a reduce-scatter half of it', () => {
    expect(ringAllReduce(1e9, 8, LINK)).toBeCloseTo(14 * 2e-6 + (14 / 8) * 0.01, 12);
    expect(reduceScatter(1e9, 8, LINK)).toBeCloseTo(7 * 2e-6 + (7 / 8) * 0.01, 12);
  });

  it('a tree takes 2⌈log₂n⌉α + 2S/β, a broadcast half of it', () => {
    expect(treeAllReduce(1e9, 9, LINK)).toBeCloseTo(8 * 2e-6 + 0.02, 12);
    expect(broadcast(1e9, 9, LINK)).toBeCloseTo(4 * 2e-6 + 0.01, 12);
  });

  it('hierarchical: inside a host, a share between hosts', () => {
    const between = { bytesPerSecond: 25e9, latencySeconds: 5e-6 };
    const group = { ranks: 32, ranksPerHost: 8, inside: LINK, between };
    const expected = 2 * reduceScatter(1e9, 8, LINK) + ringAllReduce(1e9 / 8, 4, between);
    expect(hierarchicalAllReduce(1e9, group)).toBeCloseTo(expected, 12);
  });

  it('the fastest is a tree for small messages of many ranks, a ring for large ones', () => {
    const group = { ranks: 64, ranksPerHost: 64, inside: LINK, between: LINK };
    expect(allReduceSeconds(1e3, group)).toBe(treeAllReduce(1e3, 64, LINK));
    expect(allReduceSeconds(1e9, group)).toBe(ringAllReduce(1e9, 64, LINK));
  });

  it('one rank takes no time', () => {
    expect(allReduceSeconds(1e9, { ranks: 1, ranksPerHost: 1, inside: LINK, between: LINK })).toBe(0);
  });
});

describe('networks', () => {
  it('a dragonfly has at most three hops, a fat tree four', () => {
    expect([16, 17, 512, 513, 10_000].map((hosts) => hopsOf(NETWORKS.slingshot, hosts))).toEqual([
      0, 1, 1, 3, 3,
    ]);
    expect([20, 21, 401].map((hosts) => hopsOf(NETWORKS.hdr, hosts))).toEqual([0, 2, 4]);
  });

  it('Slingshot takes 2 µs on one switch', () => {
    expect(linkBetween(NETWORKS.slingshot, 2).latencySeconds).toBeCloseTo(2e-6, 12);
  });
});
