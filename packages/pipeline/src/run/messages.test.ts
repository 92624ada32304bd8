import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import type { Collective } from '@acc/contract';
import { scheduleOf } from '@acc/planner/schedules';
import type { StagePlan } from '../stages/plan.js';
import { Messages } from './messages.js';

/** Two stages, of which the first sends a value and the second its gradient. */
const plan = {
  stages: [
    { receives: [], sends: [7] },
    { receives: [7], sends: [] },
  ],
} as unknown as StagePlan;

/** A rank whose receives arrive when they are waited for. */
function receiver(rank: number) {
  const slots: string[] = [];
  let received = 0;
  const recvAsync = (_from: number, { slot }: { slot: string }) => {
    slots.push(slot);
    return { isDone: false, wait: () => tf.scalar(received++) };
  };
  return { slots, pipe: { rank, size: 2, recvAsync } as unknown as Collective };
}

it('posts two receives ahead of the one that is waited for, in one slot, until all are posted', () => {
  const { slots, pipe } = receiver(1);
  const schedule = scheduleOf('gpipe', { ranks: 2, chunks: 1, microBatches: 4 });
  const messages = new Messages({ pipe, schedule, plan, shapes: 'f32' });
  const posted = [slots.length];
  const values = [0, 1, 2, 3].map((microBatch) => {
    const tensor = messages.receive({ kind: 'forward', stage: 0, microBatch, id: 7 });
    posted.push(slots.length);
    return tensor.dataSync()[0];
  });
  expect(posted).toEqual([2, 3, 4, 4, 4]);
  expect(values).toEqual([0, 1, 2, 3]);
  expect(new Set(slots)).toEqual(new Set(['forward 0 7 f32']));
});

it('keeps messages that come before they are needed', () => {
  const { pipe } = receiver(1);
  const schedule = scheduleOf('gpipe', { ranks: 2, chunks: 1, microBatches: 3 });
  const messages = new Messages({ pipe, schedule, plan, shapes: 'f32' });
  const valueOf = (microBatch: number) =>
    messages.receive({ kind: 'forward', stage: 0, microBatch, id: 7 }).dataSync()[0];
  expect([valueOf(2), valueOf(0), valueOf(1)]).toEqual([2, 0, 1]);
});
