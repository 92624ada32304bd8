import { describe, expect, it } from 'vitest';
import { fitAmdahl, fitGustafson, fitUsl, karpFlatt, linearFactor, type Rate } from './fits.js';

const RANKS = [1, 2, 4, 8, 16];
const ratesOf = (law: (n: number) => number, ranks = RANKS): Rate[] =>
  ranks.map((n) => ({ ranks: n, rate: 500 * law(n) }));
const amdahl = (serial: number) => (n: number) => 1 / (serial + (1 - serial) / n);
const gustafson = (serial: number) => (n: number) => serial + (1 - serial) * n;
const usl = (contention: number, coherency: number) => (n: number) =>
  n / (1 + contention * (n - 1) + coherency * n * (n - 1));

describe('a fit finds the parameters that rates were made with', () => {
  it.each([0, 0.03, 0.4, 1])('Amdahl, serial %f', (serial) => {
    const fit = fitAmdahl(ratesOf(amdahl(serial)))!;
    expect(fit.serial).toBeCloseTo(serial, 8);
    expect(fit.rateOfOne).toBeCloseTo(500, 5);
    expect(fit.error).toBeCloseTo(0, 8);
    expect(fit.rates.at(-1)).toBeCloseTo(500 * amdahl(serial)(16), 4);
  });

  it.each([0, 0.1, 0.7])('Gustafson, serial %f', (serial) => {
    const fit = fitGustafson(ratesOf(gustafson(serial)))!;
    expect(fit.serial).toBeCloseTo(serial, 8);
    expect(fit.rateOfOne).toBeCloseTo(500, 5);
    expect(fit.rates.at(-1)).toBeCloseTo(500 * gustafson(serial)(16), 4);
  });

  it.each([
    [0, 0],
    [0.05, 0],
    [0, 0.002],
    [0.05, 0.01],
  ])('USL, contention %f and coherency %f', (contention, coherency) => {
    const fit = fitUsl(ratesOf(usl(contention, coherency)))!;
    expect(fit.contention).toBeCloseTo(contention, 8);
    expect(fit.coherency).toBeCloseTo(coherency, 8);
    expect(fit.rates.at(-1)).toBeCloseTo(500 * usl(contention, coherency)(16), 4);
    if (coherency > 1e-6) expect(fit.peak).toBeCloseTo(Math.sqrt((1 - contention) / coherency), 3);
  });

  it('also without a run on one rank', () => {
    expect(fitUsl(ratesOf(usl(0.1, 0.02), [2, 4, 8, 64]))!.contention).toBeCloseTo(0.1, 8);
    expect(fitAmdahl(ratesOf(amdahl(0.1), [2, 4]))!.serial).toBeCloseTo(0.1, 8);
  });

  it('and a finite rate of one rank where rates fall faster than any law', () => {
    const fit = fitUsl(ratesOf((n) => 1 / (n - 1), [2, 4, 8]))!;
    expect(fit.rateOfOne).toBeLessThan(Infinity);
    expect(fit.contention + fit.coherency).toBeGreaterThan(0);
  });

  it('and none below 0 where rates grow by more than the ranks', () => {
    const rates = ratesOf((n) => n ** 1.2);
    expect(fitAmdahl(rates)!.serial).toBe(0);
    expect(fitUsl(rates)).toMatchObject({ contention: 0, coherency: 0, peak: null });
    expect(fitAmdahl(rates)!.error).toBeGreaterThan(0.1);
  });
});

it('no law is fitted to fewer numbers of ranks than it has parameters', () => {
  expect(fitUsl(ratesOf(usl(0.1, 0.1), [1, 2]))).toBeUndefined();
  expect(fitAmdahl(ratesOf(amdahl(0.1), [2]))).toBeUndefined();
});

it("Karp and Flatt's share is Amdahl's, and the factor of a line is its slope", () => {
  for (const n of [2, 4, 16]) expect(karpFlatt(amdahl(0.2)(n), n)).toBeCloseTo(0.2, 10);
  expect(karpFlatt(4, 4)).toBe(0);
  expect(linearFactor([1, 2, 4].map((times) => ({ times, speedUp: 0.8 * times })))).toBeCloseTo(0.8, 10);
});
