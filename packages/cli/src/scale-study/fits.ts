/** The rate of all ranks together, in samples a second. */
export interface Rate {
  readonly ranks: number;
  readonly rate: number;
}

/** How well a law describes the rates. */
interface Fitted {
  /** The rate of one rank by the law. */
  readonly rateOfOne: number;
  /** The root of the mean square of the relative errors of the rates, as reciprocals for Amdahl and USL. */
  readonly error: number;
  /** By the law, at each number of ranks. */
  readonly rates: readonly number[];
}

/** Amdahl: X(n) = X(1) / (s + (1 − s) / n). Gustafson: X(n) = X(1) · (s + (1 − s) · n). */
export interface SerialFit extends Fitted {
  /** s: the share of the time of one rank that more ranks do not shorten, or do not use. */
  readonly serial: number;
}

/** X(n) = X(1) · n / (1 + σ (n − 1) + κ n (n − 1)). */
export interface UslFit extends Fitted {
  /** σ: what ranks do one after the other. */
  readonly contention: number;
  /** κ: what each pair of ranks costs. */
  readonly coherency: number;
  /** The number of ranks with the highest rate. Null: there is none. */
  readonly peak: number | null;
}

/** A smaller κ is one of rounding. */
const NO_COHERENCY = 1e-9;

/** With fewer numbers of ranks, a law goes near the rates, but does not say whether it holds. */
export const LEAST_FOR_FIT = 4;

/** Undefined with fewer numbers of ranks than the law has parameters. */
export function fitAmdahl(rates: readonly Rate[]): SerialFit | undefined {
  // n / X(n) = (s n + (1 − s)) / X(1)
  const fitted = fit(rates, ({ ranks }) => [ranks, 1], perRank);
  if (!fitted) return undefined;
  const [serial, parallel] = fitted.factors as [number, number];
  const rateOfOne = 1 / (serial + parallel);
  return {
    ...{ serial: serial * rateOfOne, rateOfOne, error: fitted.error },
    rates: rates.map(({ ranks }, i) => ranks / fitted.values[i]!),
  };
}

/** Undefined with fewer numbers of ranks than the law has parameters. */
export function fitGustafson(rates: readonly Rate[]): SerialFit | undefined {
  const fitted = fit(
    rates,
    ({ ranks }) => [1, ranks],
    ({ rate }) => rate,
  );
  if (!fitted) return undefined;
  const [serial, parallel] = fitted.factors as [number, number];
  const rateOfOne = serial + parallel;
  return { serial: serial / rateOfOne, rateOfOne, error: fitted.error, rates: fitted.values };
}

/** Undefined with fewer numbers of ranks than the law has parameters. */
export function fitUsl(rates: readonly Rate[]): UslFit | undefined {
  // n / X(n) = ((1 − σ) + σ n + κ n (n − 1)) / X(1)
  const fitted = fit(rates, ({ ranks }) => [1, ranks, ranks * (ranks - 1)], perRank);
  if (!fitted) return undefined;
  const [parallel, contention, coherency] = fitted.factors as [number, number, number];
  const rateOfOne = 1 / (parallel + contention);
  return {
    ...{ contention: contention * rateOfOne, coherency: coherency * rateOfOne },
    peak: coherency * rateOfOne > NO_COHERENCY ? Math.max(1, Math.sqrt(parallel / coherency)) : null,
    ...{ rateOfOne, error: fitted.error },
    rates: rates.map(({ ranks }, i) => ranks / fitted.values[i]!),
  };
}

/** The serial share by Karp and Flatt: (1 / S − 1 / n) / (1 − 1 / n), for n times the fewest ranks. */
export function karpFlatt(speedUp: number, times: number): number {
  return (1 / speedUp - 1 / times) / (1 - 1 / times);
}

/** The slope of the line through the origin nearest to the speed-ups: 1 if they are linear. */
export function linearFactor(
  points: readonly { readonly times: number; readonly speedUp: number }[],
): number {
  const products = points.reduce((sum, { times, speedUp }) => sum + times * speedUp, 0);
  return products / points.reduce((sum, { times }) => sum + times ** 2, 0);
}

const perRank = ({ ranks, rate }: Rate): number => ranks / rate;

/**
 * The factors, none below 0, whose sum of terms has the least sum of squares of relative errors. With so
 * few terms, the best of all choices of terms that are not 0 is the exact solution.
 */
function fit(rates: readonly Rate[], termsOf: (rate: Rate) => number[], valueOf: (rate: Rate) => number) {
  const values = rates.map(valueOf);
  const rows = rates.map((rate, i) => termsOf(rate).map((term) => term / values[i]!));
  const count = rows[0]!.length;
  if (rates.length < count) return undefined;
  // Laws are relative to the rate of one rank, which must be finite.
  const ofOne = termsOf({ ranks: 1, rate: 1 });
  let best: { readonly factors: number[]; readonly squares: number } | undefined;
  for (let choice = 1; choice < 2 ** count; choice++) {
    const chosen = Array.from({ length: count }, (_, i) => i).filter((i) => (choice >> i) & 1);
    const found = leastSquares(rows.map((row) => chosen.map((i) => row[i]!)));
    if (!found || found.some((factor) => factor < 0)) continue;
    const factors = Array.from({ length: count }, (_, i) => found[chosen.indexOf(i)] ?? 0);
    if (product(ofOne, factors) === 0) continue;
    const squares = rows.reduce((sum, row) => sum + (1 - product(row, factors)) ** 2, 0);
    if (!best || squares < best.squares) best = { factors, squares };
  }
  const { factors, squares } = best!;
  return {
    factors,
    error: Math.sqrt(squares / rates.length),
    values: rows.map((row, i) => product(row, factors) * values[i]!),
  };
}

const product = (row: readonly number[], factors: readonly number[]): number =>
  row.reduce((sum, term, i) => sum + term * factors[i]!, 0);

/** The factors for which the sums of the rows are nearest to 1, by normal equations. Undefined: not unique. */
function leastSquares(rows: readonly (readonly number[])[]): number[] | undefined {
  const count = rows[0]!.length;
  // Columns of one size keep the digits of equations whose terms differ by powers of ten.
  const sizes = Array.from({ length: count }, (_, i) => Math.hypot(...rows.map((row) => row[i]!)));
  const columns = sizes.map((size, i) => rows.map((row) => row[i]! / size));
  const equations = columns.map((one) => [
    ...columns.map((other) => product(one, other)),
    one.reduce((sum, value) => sum + value, 0),
  ]);
  return solve(equations)?.map((factor, i) => factor / sizes[i]!);
}

/** Gauss and Jordan, with the largest pivot of each column. */
function solve(equations: number[][]): number[] | undefined {
  for (let i = 0; i < equations.length; i++) {
    const below = equations.slice(i).map((row) => Math.abs(row[i]!));
    const pivot = i + below.indexOf(Math.max(...below));
    [equations[i], equations[pivot]] = [equations[pivot]!, equations[i]!];
    const row = equations[i]!;
    if (Math.abs(row[i]!) < 1e-12) return undefined;
    for (const other of equations) {
      if (other === row) continue;
      const factor = other[i]! / row[i]!;
      for (let column = i; column < other.length; column++) other[column]! -= factor * row[column]!;
    }
  }
  return equations.map((row, i) => row.at(-1)! / row[i]!);
}
