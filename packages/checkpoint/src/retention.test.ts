import { expect, it } from 'vitest';
import { markerOf, parseMarker } from './format/manifest.js';
import { bestFirst, expendable, newestFirst, type SavedCheckpoint } from './retention.js';

const saved = (step: number, loss?: number): SavedCheckpoint => ({
  name: `step-${step}`,
  marker: markerOf(
    {
      step,
      epoch: 0,
      savedAt: new Date(step * 1000).toISOString(),
      metrics: loss === undefined ? {} : { loss },
    },
    { name: 'index', bytes: 1, crc32: '00000000' },
  ),
});
const run = [saved(10, 0.5), saved(20, 0.1), saved(30), saved(40, 0.1), saved(50, NaN), saved(60, 0.3)];

it('keeps all checkpoints by default', () => {
  expect(expendable(run, {})).toEqual([]);
  expect(expendable(run, { keepEvery: 20 })).toEqual([]);
});

it.each([
  [{ keepLast: 2 }, [10, 20, 30, 40]],
  [{ keepLast: 1, keepEvery: 20 }, [10, 30, 50]],
  [{ keepLast: 1, keepBest: { metric: 'loss', mode: 'min' } }, [10, 20, 30, 50]],
  [{ keepLast: 1, keepBest: { metric: 'loss', mode: 'min', count: 2 } }, [10, 30, 50]],
  [{ keepLast: 1, keepBest: { metric: 'loss', mode: 'max' } }, [20, 30, 40, 50]],
  [{ keepLast: 9 }, []],
] as const)('%j', (options, gone) => {
  expect(expendable(run, options)).toEqual(gone.map((step) => `step-${step}`));
});

it('the newest checkpoint is the one that was saved last, whatever its step', () => {
  const back = { ...saved(5), marker: { ...saved(5).marker, savedAt: new Date(99_000).toISOString() } };
  expect(newestFirst([...run, back])[0]).toBe(back);
  expect(bestFirst(run, { metric: 'loss', mode: 'min' }).map(({ marker }) => marker.step)).toEqual([
    40, 20, 60, 10,
  ]);
});

it('a marker with a metric that is no finite number is read again, with NaN', () => {
  const { marker } = saved(50, NaN);
  const bytes = new TextEncoder().encode(JSON.stringify(marker));
  expect(parseMarker(bytes, 'here')).toEqual(marker);
});
