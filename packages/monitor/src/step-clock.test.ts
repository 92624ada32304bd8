import { expect, it } from 'vitest';
import { StepClock } from './step-clock.js';

it('divides the time of a step into parts that add up to it', () => {
  let now = 0;
  const clock = new StepClock(() => now);
  const spend = (ms: number) => () => void (now += ms);
  const step = (dataMs: number) => {
    spend(dataMs)();
    clock.forward(spend(3));
    clock.backward(() => {
      spend(5)();
      clock.gradient();
      spend(2)();
      clock.reduced();
    });
    clock.beginOptimizer();
    spend(1)();
    clock.endStep();
  };
  step(1_000);
  expect(clock.take()).toBeUndefined();
  step(10);
  step(20);
  expect(clock.longestMs).toBe(31);
  expect(clock.take()).toEqual({
    step: 26,
    data: 15,
    forward: 3,
    backward: 5,
    communication: 2,
    optimizer: 1,
  });
  // Evaluation between steps is no forward pass of training.
  clock.forward(spend(100));
  step(0);
  expect(clock.last).toMatchObject({ forward: 3, evaluation: 100 });
  expect(clock.take()).toMatchObject({ step: 111, data: 100, forward: 3 });
  // A prediction, and two micro-batches of a pipeline, whose forward passes come first.
  for (const ms of [7, 2, 3]) clock.forward(() => clock.forward(spend(ms)));
  for (const ms of [4, 4]) clock.backward(spend(ms));
  clock.endStep();
  expect(clock.last).toMatchObject({ backward: 8, evaluation: 7 });
});
