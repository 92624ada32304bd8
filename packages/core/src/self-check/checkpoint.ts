import { join } from 'node:path';
import type { Check } from './check.js';
import { valuesOf } from './small-model.js';
import { relativeDifference, type PreparedTraining } from './training.js';

/** A step after loading and the same step after saving add the same numbers. */
const TOLERANCE = 1e-4;

/** Saves, trains on, loads, and takes the same step again. */
export function checkpointCheck(training: () => PreparedTraining): Check {
  return {
    name: 'checkpoint',
    run: async ({ accelerator, plan }) => {
      const { model, step } = training();
      const folder = join(plan.folder, 'checkpoint');
      await accelerator.saveState(folder);
      const before = valuesOf(model.variables);
      step();
      const after = valuesOf(model.variables);
      await accelerator.loadState(folder);
      const loaded = valuesOf(model.variables);
      step();
      const again = relativeDifference(valuesOf(model.variables), { before, after });
      const wrong = loaded.findIndex((value, i) => value !== before[i]);
      if (wrong >= 0)
        return {
          problem: `weight ${wrong} was ${before[wrong]} when saved, and ${loaded[wrong]} when loaded`,
        };
      if (!(again <= TOLERANCE))
        return { problem: `the step after loading differs by ${again.toExponential(1)} of its change` };
      return { note: 'weights bit for bit, and the next step' };
    },
  };
}
