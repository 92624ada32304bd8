import { describe, expect, it } from 'vitest';
import { LossWatch, SlowRankWatch, stallAlert } from './alerts.js';

const options = { spikeDeviations: 6, slowFactor: 1.5 };
/** Falls, with some noise that is the same in every run. */
const falling = (i: number) => 2 * Math.exp(-i / 100) + 0.05 * Math.sin(7 * i);

describe('a loss', () => {
  it('that falls with noise causes no alert', () => {
    const watch = new LossWatch(options);
    expect(Array.from({ length: 500 }, (_, i) => watch.look(falling(i), i)).filter(Boolean)).toEqual([]);
  });

  it('that jumps causes one, and the values after it cause none', () => {
    const watch = new LossWatch(options);
    for (let i = 0; i < 200; i++) watch.look(falling(i), i);
    expect(watch.look(5, 200)).toMatchObject({ kind: 'loss-spike', step: 200 });
    expect(watch.look(falling(201), 201)).toBeUndefined();
  });

  it('of NaN causes one alert, until it is finite again', () => {
    const watch = new LossWatch(options);
    const kinds = [1, NaN, NaN, 1, Infinity].map((loss, i) => watch.look(loss, i)?.kind);
    expect(kinds).toEqual([undefined, 'loss-not-finite', undefined, undefined, 'loss-not-finite']);
  });

  it('that never changes causes no alert', () => {
    const watch = new LossWatch(options);
    expect(Array.from({ length: 100 }, (_, i) => watch.look(0.5, i)).filter(Boolean)).toEqual([]);
  });
});

describe('a rank', () => {
  it('is slow after three slow steps in a row', () => {
    const watch = new SlowRankWatch(options);
    const busy = (slow: number) =>
      new Map([
        [0, 10],
        [1, slow],
        [2, 11],
      ]);
    const found = [20, 20, 12, 20, 20, 20, 20].flatMap((slow, i) => watch.look(busy(slow), i));
    expect(found).toMatchObject([{ kind: 'slow-rank', rank: 1, step: 5 }]);
  });

  it('of two is compared with the other, and a single rank with none', () => {
    const watch = new SlowRankWatch(options);
    const found = [1, 2, 3].flatMap((step) =>
      watch.look(
        new Map([
          [0, 10],
          [1, 30],
        ]),
        step,
      ),
    );
    expect(found).toMatchObject([{ rank: 1 }]);
    expect(new SlowRankWatch(options).look(new Map([[0, 10]]), 1)).toEqual([]);
  });
});

it('a stall is attributed to the rank that was busy the longest', () => {
  expect(
    stallAlert(
      200_000,
      new Map([
        [0, 10],
        [1, 5_000],
      ]),
      7,
    ),
  ).toMatchObject({ kind: 'stall', rank: 1, step: 7 });
});
