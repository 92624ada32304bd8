/** How calls count at the moment. It belongs to the process, as the observer of calls does. */
export const counting = { isPaused: false, isAgain: false };

/** Runs `compute`, which computes again what a forward pass has computed before. */
export const computingAgain = <T>(compute: () => T): T => during('isAgain', compute);

/** Whether {@link computingAgain} is running. */
export const isComputingAgain = (): boolean => counting.isAgain;

/** Runs `compute`, whose calls only measure how long they take. */
export const measuringCalls = <T>(compute: () => T): T => during('isPaused', compute);

function during<T>(state: keyof typeof counting, compute: () => T): T {
  const before = counting[state];
  counting[state] = true;
  try {
    return compute();
  } finally {
    counting[state] = before;
  }
}
