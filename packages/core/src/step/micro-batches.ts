import { AccError, finallyAfter, type Recorder } from '@acc/contract';
import type { GradientAccumulation } from '@acc/grad-accumulation';

/** Runs the micro-batches of windows. A micro-batch of a recorded step begins and ends in each replay. */
export class MicroBatches {
  /** The number of micro-batches that have begun. */
  count = 0;

  constructor(
    private readonly accumulation: GradientAccumulation,
    private readonly recorder: () => Recorder | undefined,
  ) {}

  /** Describes which micro-batch a step is, or which ones the next `count` are that it runs itself. */
  surroundings(count: number, isLast: boolean): string[] {
    const { isInWindow, isHolding, steps } = this.accumulation;
    if (isInWindow) return [describe([!isHolding])];
    return count === 0 || steps === 1 ? [] : [describe(this.accumulation.upcoming(count, isLast))];
  }

  run<T>(fn: () => T, isLast: () => boolean): T {
    const { accumulation } = this;
    const recorder = this.recorder();
    if (accumulation.steps > 1 && recorder?.records) return this.#record(fn, isLast, recorder);
    this.count++;
    return accumulation.run(fn, isLast());
  }

  #record<T>(fn: () => T, isLast: () => boolean, recorder: Recorder): T {
    const { accumulation } = this;
    let end = () => {};
    let closes: boolean | undefined;
    const begin = () => {
      const last = isLast();
      const [isClosing] = accumulation.upcoming(1, last);
      closes ??= isClosing!;
      if (isClosing !== closes) throw changed(closes);
      this.count++;
      end = accumulation.begin(last);
      return [];
    };
    recorder.runAction([], begin, { afterFailure: () => end(), what: MICRO_BATCHES });
    let result: T;
    try {
      result = fn();
    } catch (error) {
      end();
      throw error;
    }
    if (result instanceof Promise) {
      recorder.refuse('it awaits in a micro-batch');
      return finallyAfter(() => result, end);
    }
    recorder.runAction([], () => (end(), []), { what: MICRO_BATCHES });
    return result;
  }
}

const MICRO_BATCHES = 'beginnings and ends of micro-batches, in JavaScript';

/** @param closes For each micro-batch whether it closes a window. */
function describe(closes: readonly boolean[]): string {
  const kinds = closes.map((each) => (each ? 'closes a window' : 'holds gradients'));
  return `micro-batch that ${kinds.join(', then one that ')}`;
}

function changed(closed: boolean): AccError {
  const [now, before] = closed ? ['does not close', 'closed'] : ['closes', 'did not close'];
  return new AccError(
    'ACC_COMPILE_CHANGED',
    `A micro-batch of a compiled step ${now} its window, but it ${before} one when the step was recorded.`,
    { help: 'Run as many micro-batches in each call of the step, or pass their number as an argument.' },
  );
}
