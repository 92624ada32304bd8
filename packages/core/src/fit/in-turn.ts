import { AccError } from '@acc/contract';
import { patch, type ModelInternals, type Undo } from '@acc/tfjs-internals';
import type { FitContext } from './fit-context.js';

/**
 * Makes `fit`, `fitDataset` and `evaluateDataset` of all models wait for their turns. `evaluate`
 * runs on one rank alone and never waits.
 */
export function inTurn(model: ModelInternals, context: FitContext): Undo {
  const { turns } = context;
  if (!turns.isNeeded) return () => {};
  const train = async <T>(run: () => Promise<T>): Promise<T> => {
    // tfjs refuses a second fit of the same model, even if the first one is still waiting.
    if (model.isTraining) return run();
    if (turns.isWithin) requireWindowClosed(context);
    model.isTraining = true;
    let hasBegun = false;
    try {
      return await turns.take(() => {
        hasBegun = true;
        model.isTraining = false;
        return keepingPlace(context, run);
      });
    } finally {
      // The turn was refused.
      if (!hasBegun) model.isTraining = false;
    }
  };
  const undos = [
    patch(model, 'fit', 'turns', (own) => (x, y, args) => train(() => own.call(model, x, y, args))),
    patch(
      model,
      'fitDataset',
      'turns',
      (own) => (dataset, args) => train(() => own.call(model, dataset, args)),
    ),
    patch(model, 'evaluateDataset', 'turns', (own) => (dataset, args) => {
      const evaluate = () => keepingPlace(context, () => own.call(model, dataset, args));
      // The validation of a `fitDataset`, whose turn it is part of.
      if (!turns.tellsCallers && model.isTraining) return evaluate();
      return turns.take(evaluate);
    }),
  ];
  return () => {
    for (const undo of undos) undo();
  };
}

/** Runs a function in a callback, and then restores the position of the surrounding fit. */
async function keepingPlace<T>({ trainingStep, progress }: FitContext, run: () => Promise<T>): Promise<T> {
  const { batch } = trainingStep;
  const restoreProgress = progress.keep();
  try {
    return await run();
  } finally {
    trainingStep.batch = batch;
    restoreProgress();
  }
}

/** A window holds gradients until it closes. Windows of two fits would close each other. */
function requireWindowClosed({ trainingStep }: FitContext): void {
  if (trainingStep.accumulation.getState().done === 0) return;
  throw new AccError(
    'ACC_FIT_NESTED',
    'A callback of fit called fit inside a window of gradient accumulation.',
    {
      help: 'Call it in onEpochEnd, when the window is closed, or after a micro-batch that closes a window.',
    },
  );
}
