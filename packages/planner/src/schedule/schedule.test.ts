import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backward, forward, SCHEDULES, upTo, type Schedule } from './action.js';
import { peakPassesOf } from './peak-passes.js';
import { pictureOf } from './picture.js';
import { scheduleOf } from './schedule.js';
import { simulate } from './simulate.js';

const ranks = fc.integer({ min: 1, max: 8 });
const microBatches = fc.integer({ min: 1, max: 24 });

describe('schedules have no deadlock, and keep', () => {
  it('gpipe: all micro-batches', () => {
    fc.assert(
      fc.property(ranks, microBatches, (p, m) => {
        const { bubble, peakPasses } = simulate(
          scheduleOf('gpipe', { ranks: p, chunks: 1, microBatches: m }),
        );
        expect(bubble).toBeCloseTo((p - 1) / m, 10);
        expect(peakPasses).toEqual(upTo(p).map(() => m));
      }),
    );
  });

  it('1f1b: as many micro-batches as ranks follow', () => {
    fc.assert(
      fc.property(ranks, microBatches, (p, m) => {
        const { bubble, peakPasses } = simulate(scheduleOf('1f1b', { ranks: p, chunks: 1, microBatches: m }));
        expect(bubble).toBeCloseTo((p - 1) / m, 10);
        expect(peakPasses).toEqual(upTo(p).map((rank) => Math.min(m, p - rank)));
      }),
    );
  });

  it('interleaved: the bubble is divided by the chunks of a rank', () => {
    fc.assert(
      fc.property(ranks, fc.integer({ min: 2, max: 4 }), fc.integer({ min: 1, max: 4 }), (p, v, groups) => {
        const m = p * groups;
        const { bubble, peakPasses } = simulate(
          scheduleOf('interleaved', { ranks: p, chunks: v, microBatches: m }),
        );
        expect(bubble).toBeCloseTo((p - 1) / (v * m), 10);
        for (const peak of peakPasses) expect(peak).toBeLessThanOrEqual(Math.min(v * m, v * p + p - 1));
      }),
    );
  });

  it('interleaved: all micro-batches, if they are fewer than ranks', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 2, max: 4 }), ranks, (p, v, some) => {
        const m = Math.min(some, p - 1);
        const { peakPasses } = simulate(scheduleOf('interleaved', { ranks: p, chunks: v, microBatches: m }));
        expect(Math.max(...peakPasses)).toBeLessThanOrEqual(v * m);
      }),
    );
  });

  it('zeroBubble: a third of the bubble of 1f1b, and no more than its rank 0', () => {
    fc.assert(
      fc.property(ranks, microBatches, (p, extra) => {
        const m = p + extra - 1;
        const schedule = scheduleOf('zeroBubble', { ranks: p, chunks: 1, microBatches: m });
        const { bubble, peakPasses } = simulate(schedule);
        expect(bubble).toBeCloseTo((p - 1) / (3 * m), 10);
        expect(Math.max(...peakPasses)).toBeLessThanOrEqual(Math.min(m, p));
      }),
    );
  });

  it('1f1b: the other rank waits for the stage with most work', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 24 }), fc.integer({ min: 1, max: 9 }), (m, more) => {
        const schedule = scheduleOf('1f1b', { ranks: 2, chunks: 1, microBatches: m });
        const { duration, bubble } = simulate(schedule, ({ stage, kind }) =>
          kind === 'forward' ? 1 : 2 + stage * more,
        );
        // Rank 1 begins after a forward action of rank 0, and ends before a backward action of it.
        expect(duration).toBeCloseTo(m * (3 + more) + 3, 10);
        expect(bubble).toBeCloseTo((duration - 3 * m) / (3 * m), 10);
      }),
    );
  });

  it('zeroBubble with few micro-batches: all actions, no deadlock', () => {
    fc.assert(
      fc.property(ranks, microBatches, (p, m) => {
        const schedule = scheduleOf('zeroBubble', { ranks: p, chunks: 1, microBatches: m });
        const plain = simulate(scheduleOf('1f1b', { ranks: p, chunks: 1, microBatches: m }));
        expect(simulate(schedule).duration).toBeLessThanOrEqual(plain.duration);
      }),
    );
  });
});

it('the passes that ranks keep have a closed form in every schedule', () => {
  fc.assert(
    fc.property(fc.constantFrom(...SCHEDULES), ranks, microBatches, (name, p, m) => {
      const chunks = name === 'interleaved' ? 3 : 1;
      const shape = { ranks: p, chunks, microBatches: chunks > 1 && m > p ? m * p : m };
      expect(peakPassesOf(name, shape)).toEqual(simulate(scheduleOf(name, shape)).peakPasses);
    }),
  );
});

describe('simulate', () => {
  const table = (rows: Schedule['rows']): Schedule => ({
    name: 'gpipe',
    ranks: 2,
    stages: 2,
    microBatches: 1,
    rows,
  });

  it('finds ranks that wait for each other', () => {
    const crossed = table([
      [backward(0, 0), forward(0, 0)],
      [forward(1, 0), backward(1, 0)],
    ]);
    expect(() => simulate(crossed)).toThrowError(expect.objectContaining({ code: 'ACC_PIPELINE_DEADLOCK' }));
  });

  it('finds actions that are missing, twice or on another rank', () => {
    const right = [forward(1, 0), backward(1, 0)];
    for (const row of [[forward(0, 0)], [forward(0, 0), forward(0, 0), backward(0, 0)], [forward(1, 0)]]) {
      expect(() => simulate(table([row, right]))).toThrowError(
        expect.objectContaining({ code: 'ACC_PIPELINE_DEADLOCK' }),
      );
    }
  });

  it('takes costs', () => {
    const { duration } = simulate(scheduleOf('gpipe', { ranks: 2, chunks: 1, microBatches: 3 }), {
      forward: 2,
      backward: 5,
      weights: 0,
    });
    expect(duration).toBe(4 * 7);
  });

  it('takes when actions send their results: before they end, others wait less', () => {
    fc.assert(
      fc.property(fc.constantFrom('gpipe', '1f1b'), ranks, microBatches, (name, p, extra) => {
        const m = p + extra - 1;
        const schedule = scheduleOf(name, { ranks: p, chunks: 1, microBatches: m });
        const { bubble, duration } = simulate(schedule, ({ kind }) =>
          kind === 'forward' ? 1 : { duration: 2, sentAfter: 1 },
        );
        // A rank computes 3 m, and waits for the forward and the first half of backward of the others.
        expect(duration).toBeCloseTo(3 * m + 2 * (p - 1), 10);
        expect(bubble).toBeCloseTo((2 * (p - 1)) / (3 * m), 10);
      }),
    );
  });
});

describe('pictureOf', () => {
  it('draws a row for each rank', () => {
    const picture = pictureOf(scheduleOf('1f1b', { ranks: 2, chunks: 1, microBatches: 2 }));
    expect(picture).toBe(
      ['rank 0  F0 F1 .  .  B0 B0 .  B1 B1', 'rank 1  .  F0 B0 B0 F1 B1 B1 .  .'].join('\n'),
    );
  });

  it('tells chunks and weights apart', () => {
    expect(pictureOf(scheduleOf('interleaved', { ranks: 2, chunks: 2, microBatches: 2 }))).toContain('F0b');
    expect(pictureOf(scheduleOf('zeroBubble', { ranks: 3, chunks: 1, microBatches: 4 }))).toContain('W3');
  });
});

it('refuses shapes that a schedule cannot have', () => {
  const refused = expect.objectContaining({ code: 'ACC_PIPELINE_SHAPE' }) as Error;
  expect(() => scheduleOf('1f1b', { ranks: 2, chunks: 2, microBatches: 4 })).toThrowError(refused);
  expect(() => scheduleOf('interleaved', { ranks: 2, chunks: 2, microBatches: 3 })).toThrowError(refused);
});

it.each([
  ['zerobubble', "Did you mean 'zeroBubble'?"],
  ['toString', 'Give one of these names.'],
  [undefined, 'Give one of these names.'],
])('refuses the schedule %s, and lists those that there are', (name, help) => {
  const shape = { ranks: 2, chunks: 1, microBatches: 2 };
  expect(() => scheduleOf(name as 'gpipe', shape)).toThrowError(
    expect.objectContaining({
      code: 'ACC_INVALID_OPTION',
      help,
      message: expect.stringContaining("one of 'gpipe', '1f1b', 'interleaved', 'zeroBubble'") as string,
    }),
  );
});
