import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../entry.js';
import { Picture } from '../payload/picture.js';
import { newFolder } from '../testing/bus.js';
import { EntryQueue } from './entry-queue.js';

const LIMITS = { memoryEntries: 50, memoryBytes: 2 ** 30, diskBytes: 2 ** 30 };
const row = (sequence: number): Entry => ({
  kind: 'metrics',
  metrics: { x: sequence },
  step: 0,
  sequence,
  timeMs: 1,
});
const newQueue = () => new EntryQueue(join(newFolder(), 'sub', 'q.jsonl'), LIMITS);

describe('a queue', () => {
  it('returns its entries in order, whether they are in memory or on disk', () => {
    const action = fc.oneof(
      fc.record({ do: fc.constant('push' as const), count: fc.integer({ min: 1, max: 700 }) }),
      fc.record({ do: fc.constant('take' as const), count: fc.integer({ min: 1, max: 700 }) }),
      fc.record({ do: fc.constant('spill' as const), count: fc.constant(0) }),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 30 }), (actions) => {
        const queue = newQueue();
        let [pushed, taken] = [0, 0];
        for (const { do: what, count } of actions) {
          if (what === 'spill') queue.spill();
          if (what === 'push') for (let i = 0; i < count; i++) queue.push(row(pushed++));
          if (what !== 'take') continue;
          const next = queue.peek(Math.min(count, 500));
          expect(next.map(({ sequence }) => sequence)).toEqual(next.map((_, i) => taken + i));
          expect(next.length > 0).toBe(taken < pushed);
          queue.drop(next.length);
          taken += next.length;
          expect(queue.length).toBe(pushed - taken);
        }
        queue.remove();
      }),
      { numRuns: 60 },
    );
  });

  it('keeps an entry that was peeked if it is written to disk meanwhile', () => {
    const queue = newQueue();
    for (let i = 0; i < 20; i++) queue.push(row(i));
    const peeked = queue.peek(10);
    queue.spill();
    for (let i = 20; i < 2_000; i++) queue.push(row(i));
    queue.drop(peeked.length);
    expect(queue.peek(1)[0]!.sequence).toBe(10);
    queue.remove();
  });

  it('leaves no file after all entries are taken', () => {
    const queue = newQueue();
    queue.push(row(0));
    queue.spill();
    const { path } = queue;
    expect(existsSync(path!)).toBe(true);
    queue.drop(queue.peek(1).length);
    expect([existsSync(path!), queue.path, queue.isEmpty]).toEqual([false, undefined, true]);
  });

  it('continues in another process after the taken entries, without a truncated line', () => {
    const path = join(newFolder(), 'q.jsonl');
    const first = new EntryQueue(path, LIMITS);
    for (let i = 0; i < 1_000; i++) first.push(row(i));
    first.spill();
    while (first.length > 700) first.drop(first.peek(first.length - 700).length);
    first.close();
    appendFileSync(path, '{"kind":"metrics","met');
    const second = new EntryQueue(path, LIMITS);
    const all: number[] = [];
    for (let next = second.peek(400); next.length > 0; next = second.peek(400)) {
      all.push(...next.map(({ sequence }) => sequence));
      second.drop(next.length);
    }
    expect(all).toEqual(Array.from({ length: 700 }, (_, i) => 300 + i));
    expect(existsSync(path)).toBe(false);
  });

  it('restores entries of every kind from disk', () => {
    const queue = newQueue();
    const at = { step: 1, sequence: 0, timeMs: 2 };
    const png = Uint8Array.of(1, 2, 3);
    const entries: Entry[] = [
      { kind: 'metrics', metrics: { a: NaN, b: Infinity, c: -Infinity, d: 1e-300 }, ...at },
      { kind: 'config', config: { a: [1, { b: 'x' }], n: null, $acc: { $number: 'x' } }, ...at },
      { kind: 'text', key: 'k', text: 'line\nbreak "quoted" ✓', ...at },
      { kind: 'table', key: 't', table: { columns: ['a'], rows: [[NaN], [null], ['x']] }, ...at },
      { kind: 'image', key: 'i', image: new Picture({ width: 1, height: 2, png }), ...at },
    ];
    for (const entry of entries) queue.push(entry);
    queue.spill();
    for (let i = 0; i < 600; i++) queue.push(row(i));
    queue.close();
    const back = new EntryQueue(queue.path!, LIMITS).peek(5);
    expect(back.slice(0, 4)).toEqual(entries.slice(0, 4));
    const image = back[4] as Entry & { kind: 'image' };
    expect(image.image.getNow()).toMatchObject({ width: 1, height: 2, png });
  });

  it('drops the newest entries and counts them if the disk is full', () => {
    const file = join(newFolder(), 'no-folder');
    writeFileSync(file, '');
    const queue = new EntryQueue(join(file, 'q.jsonl'), LIMITS);
    for (let i = 0; i < 500; i++) queue.push(row(i));
    expect(queue.diskError).toBeDefined();
    expect(queue.lost + queue.length).toBe(500);
    expect(queue.peek(3).map(({ sequence }) => sequence)).toEqual([0, 1, 2]);
  });
});
