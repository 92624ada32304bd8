/** The learning rate after `count` steps, or samples, from 0. */
export type Curve = (count: number) => number;

interface Warming {
  readonly base: number;
  readonly warmupSteps: number;
}

interface Ending extends Warming {
  readonly totalSteps: number;
  readonly endLr: number;
}

/**
 * The rate base · k / warmupSteps during the warm-up, then the rate of `after`, which counts from
 * the end of the warm-up.
 */
export function warmedUp({ base, warmupSteps }: Warming, after: Curve): Curve {
  return (k) => (k < warmupSteps ? (base * k) / warmupSteps : after(k - warmupSteps));
}

export const constant = (given: Warming): Curve => warmedUp(given, () => given.base);

/**
 * end + (base - end) · shape(p). The progress p rises from 0 after the warm-up to 1 at the end of
 * the schedule.
 */
function falling(given: Ending, shape: (progress: number) => number): Curve {
  const { base, endLr, totalSteps, warmupSteps } = given;
  const length = totalSteps - warmupSteps;
  return warmedUp(given, (k) => endLr + (base - endLr) * shape(Math.min(k / length, 1)));
}

export const linear = (given: Ending): Curve => falling(given, (p) => 1 - p);

/**
 * Half a cosine, without restarts (Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with
 * Warm Restarts", 2017).
 */
export const cosine = (given: Ending): Curve => falling(given, (p) => (1 + Math.cos(Math.PI * p)) / 2);

export const polynomial = (given: Ending & { readonly power: number }): Curve =>
  falling(given, (p) => (1 - p) ** given.power);

export const steps = (given: Warming & { readonly stepSize: number; readonly gamma: number }): Curve =>
  warmedUp(given, (k) => given.base * given.gamma ** Math.floor(k / given.stepSize));

interface Cycle {
  readonly maxLr: number;
  readonly totalSteps: number;
  /** The step with the largest rate. */
  readonly warmupSteps: number;
  readonly startLr: number;
  readonly endLr: number;
}

/**
 * Rises and falls along half cosines (Smith and Topin, "Super-Convergence", 2018), like PyTorch's
 * OneCycleLR.
 */
export function oneCycle({ maxLr, totalSteps, warmupSteps, startLr, endLr }: Cycle): Curve {
  const between = (from: number, to: number, p: number) =>
    to + ((from - to) * (1 + Math.cos(Math.PI * p))) / 2;
  const down = totalSteps - 1 - warmupSteps;
  return (k) =>
    k < warmupSteps
      ? between(startLr, maxLr, k / warmupSteps)
      : between(maxLr, endLr, Math.min((k - warmupSteps) / down, 1));
}
