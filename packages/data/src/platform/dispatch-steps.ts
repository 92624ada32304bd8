import { AccError } from '@acc/contract';
import type { Dispatch, DispatchedStep, Step } from '../batch-counts.js';
import type { EpochPlan } from '../indexed-steps.js';
import { disposeTensors, tensorsIn } from '../structure.js';
import { sliceRows } from '../cut-batch.js';

/**
 * The steps of one rank, of which rank 0 alone reads the data.
 *
 * @param open Opens the steps of all ranks: each batch has the rows of all of them, in the order of
 * ranks. Called on rank 0 only.
 */
export async function* dispatchSteps(
  rank: number,
  open: () => AsyncGenerator<Step<unknown>>,
  dispatch: Dispatch,
): AsyncGenerator<Step<unknown>, void, undefined> {
  let steps: AsyncGenerator<Step<unknown>> | undefined;
  const read = async (): Promise<DispatchedStep | undefined> => {
    try {
      steps ??= open();
      const next = await steps.next();
      return next.done ? undefined : splitStep(next.value);
    } catch (error) {
      dispatch({ error });
      throw error;
    }
  };
  try {
    for (let isLast = false; !isLast;) {
      const own = dispatch(rank === 0 ? await read() : undefined);
      if (!own) return;
      ({ isLast } = own.counts);
      yield own;
    }
  } finally {
    await steps?.return(undefined);
  }
}

/** Divides the batch of all ranks. The batch is disposed. */
function splitStep({ batch, counts, end }: Step<unknown>): DispatchedStep {
  const total = counts.rows.reduce((sum, rows) => sum + rows, 0);
  try {
    const wrong = tensorsIn(batch).find(({ shape }) => shape[0] !== total);
    if (wrong)
      throw cannotDispatch(
        `a tensor of the batch has the shape [${wrong.shape.join(', ')}], and ${total} rows were read`,
      );
    let start = 0;
    const batches = counts.rows.map((rows) => sliceRows(batch, (start += rows) - rows, rows));
    return { batches, counts, end };
  } finally {
    disposeTensors(batch);
  }
}

/** @throws AccError `ACC_DATA_DISPATCH` if some ranks may have no rows in the last step. */
export function requireFullSteps({ dropLast, deal }: EpochPlan): void {
  if (deal.fills || dropLast) return;
  throw cannotDispatch('the last step may lack rows for some ranks', 'Use evenBatches, or dropLast.');
}

/** `ACC_DATA_DISPATCH`: data that one rank cannot read for all of them. */
function cannotDispatch(what: string, help = 'Leave dispatchBatches out.'): AccError {
  return new AccError('ACC_DATA_DISPATCH', `dispatchBatches: ${what}.`, { help });
}
