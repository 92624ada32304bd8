import { describe, expect, it } from 'vitest';
import type { CallDescription } from './agreement.js';
import { TrafficCounter } from './traffic.js';

const KIB: Omit<CallDescription, 'collective'> = { dtype: 'float32', shape: [16, 16] };

describe('the bytes that a rank sends', () => {
  it.each([
    ['allReduce', 1536],
    ['reduceScatter', 768],
    ['allToAll', 768],
    ['allGather', 3 * 1024],
    ['barrier', 0],
  ] as const)('are those of a ring: %s', (collective, bytes) => {
    const counter = new TrafficCounter(1, 4);
    counter.add({ collective, ...(collective === 'barrier' ? {} : KIB) });
    expect(counter.total).toEqual({ calls: 1, bytes });
  });

  it('are none for the last rank of a broadcast, and for the root of a reduction', () => {
    const sent = (rank: number, collective: 'broadcast' | 'reduce' | 'gather') => {
      const counter = new TrafficCounter(rank, 3);
      counter.add({ collective, root: 1, ...KIB });
      return counter.total.bytes;
    };
    expect([0, 1, 2].map((rank) => sent(rank, 'broadcast'))).toEqual([0, 1024, 1024]);
    expect([0, 1, 2].map((rank) => sent(rank, 'reduce'))).toEqual([1024, 0, 1024]);
    expect([0, 1, 2].map((rank) => sent(rank, 'gather'))).toEqual([1024, 0, 1024]);
  });

  it('are halved by elements of 16 bits, and messages count as they are', () => {
    const counter = new TrafficCounter(0, 2);
    counter.add({ collective: 'allReduce', dtype: 'bfloat16', shape: [512] });
    counter.addMessage(100);
    counter.addHeader(44);
    expect(counter.total).toEqual({ calls: 2, bytes: 1168 });
  });

  it('are those that the call states, if it does', () => {
    const counter = new TrafficCounter(0, 2);
    counter.add({ collective: 'allToAll', ...KIB, sentBytes: 96 });
    counter.add({ collective: 'allToAll', ...KIB, sentBytes: 0 });
    expect(counter.total).toEqual({ calls: 2, bytes: 96 });
  });
});
