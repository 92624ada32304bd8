import { expect, it } from 'vitest';
import { LoopFigures } from './loop-figures.js';

it('reads that overlap count once, and those of a save or of a pass are not waits for values', () => {
  let isInStep = false;
  const figures = new LoopFigures(() => isInStep);
  figures.take();
  const start = performance.now();
  // Two reads at once, of 10 ms and 12 ms, and one of 3 ms within the first ones.
  for (const [after, ms] of [
    [0, 10],
    [2, 12],
    [4, 3],
  ] as const)
    figures.wait('reads', start + after, ms);
  // A save of 50 ms that reads weights for 30 ms.
  figures.wait('reads', start + 110, 30);
  figures.wait('saves', start + 100, 50);
  isInStep = true;
  figures.wait('reads', start + 200, 5);
  expect(figures.take()).toMatchObject({ saves: 50, loader: 0, reads: expect.closeTo(14, 6) as number });
  expect(figures.take()).toMatchObject({ saves: 0, reads: 0 });
  figures.close();
});

it('reads of the records are no waits of the loop, and trackers that take their figures are', () => {
  const figures = new LoopFigures();
  figures.take();
  const start = performance.now();
  figures.wait('reads', start, 3);
  figures.wait('logging', start + 3, 20);
  figures.skip();
  expect(figures.take()).toMatchObject({ reads: 0, logging: 20 });
  figures.close();
});
