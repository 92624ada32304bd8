import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Allocation } from '@acc/native';
import { planArena } from './arena-plan.js';

/** Allocations of multiples of 64 bytes, of which some outlive the step. */
const lifetimes = fc
  .array(
    fc.record({
      units: fc.integer({ min: 1, max: 40 }),
      duration: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined, freq: 8 }),
    }),
    { maxLength: 80 },
  )
  .map((list) =>
    list.map(({ units, duration }, i): Allocation => ({
      bytes: 64 * units,
      end: duration && Math.min(list.length, i + duration),
    })),
  );

it('allocations that live at the same time do not overlap, and all lie inside of the arena', () => {
  fc.assert(
    fc.property(lifetimes, (list) => {
      const { places, bytes, neededBytes } = planArena(list);
      expect(places).toHaveLength(list.length);
      list.forEach((a, i) => {
        if (a.end === undefined) return void expect(places[i]).toBe(-1);
        expect(places[i]! % 64).toBe(0);
        expect(places[i]! + a.bytes).toBeLessThanOrEqual(bytes);
        list.slice(i + 1, a.end).forEach((b, k) => {
          const j = i + 1 + k;
          if (b.end === undefined) return;
          const areApart = places[i]! + a.bytes <= places[j]! || places[j]! + b.bytes <= places[i]!;
          expect(areApart).toBe(true);
        });
      });
      expect(bytes).toBeGreaterThanOrEqual(neededBytes);
    }),
    { numRuns: 2000 },
  );
});

it('needs as much as lives at the same time, by a count at each allocation', () => {
  fc.assert(
    fc.property(lifetimes, (list) => {
      const sums = list.map((_, now) =>
        list
          .filter(({ end }, i) => i <= now && end !== undefined && end > now)
          .reduce((sum, { bytes }) => sum + bytes, 0),
      );
      expect(planArena(list).neededBytes).toBe(Math.max(0, ...sums));
    }),
    { numRuns: 500 },
  );
});

it('a forward pass that keeps what its backward pass needs fits into what it needs', () => {
  // Forward, each layer keeps one tensor and needs another one for a moment. Backward, each releases
  // what was kept, and passes a gradient on.
  const layers = 12;
  const list: Allocation[] = [];
  for (let layer = 0; layer < layers; layer++) {
    list.push({ bytes: 64 * (1 + (layer % 3)), end: 2 * layers + 2 * (layers - layer) });
    list.push({ bytes: 256, end: list.length + 2 });
  }
  for (let layer = 0; layer < 2 * layers; layer++) list.push({ bytes: 128, end: list.length + 2 });
  const { bytes, neededBytes } = planArena(
    list.map((each) => ({ ...each, end: Math.min(each.end!, list.length) })),
  );
  expect(bytes / neededBytes).toBeLessThan(1.05);
});

it('plans nothing for nothing', () => {
  expect(planArena([])).toEqual({ places: [], bytes: 0, neededBytes: 0 });
});
