import { AccError, type Plugin } from '@acc/contract';
import { follow, LRScheduler } from './lr-scheduler.js';
import type { Schedule, ScheduleState } from './schedule.js';

/** The plugin that prepares schedulers and reports the steps of their optimizers to them. */
export function schedules(): Plugin {
  const followed = new Set<Schedule>();
  let ranks = 1;
  return {
    name: 'schedules',
    attach({ mesh }) {
      ranks = mesh.dataRanks.size;
    },
    claim(object) {
      if (!(object instanceof LRScheduler)) return undefined;
      followed.add(follow(object, ranks));
      return object;
    },
    getState: () => [...followed].map((schedule) => schedule.getState()),
    setState(states: readonly ScheduleState[]) {
      if (!Array.isArray(states) || states.length !== followed.size) {
        throw new AccError(
          'ACC_STATE_INVALID',
          `${Array.isArray(states) ? states.length : 'No'} schedules were saved, but ${followed.size} are prepared.`,
          { help: 'Prepare the same schedulers, in the same order.' },
        );
      }
      [...followed].forEach((schedule, i) => schedule.setState(states[i]!));
    },
    afterStep({ optimizer, samples, isInFit }) {
      for (const schedule of followed) {
        if (schedule.optimizer !== optimizer) continue;
        schedule.hear(samples);
        if (isInFit) schedule.move();
      }
    },
  };
}
