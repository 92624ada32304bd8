import type { Calibration } from '../hardware/calibrations.js';
import { predict, settingOf } from '../predict.js';
import { stepSeconds } from '../time/step.js';
import type { PublishedRow, PublishedTable } from './tables.js';

/** The constants that are fitted here. */
type Constants = readonly [products: number, memory: number, tensorExposed: number];

/**
 * The range of each constant. The step of a row is taken as a sum of terms, which is right to 1 or 2 %, so
 * all constants of the ranges can be tried.
 */
const RANGES = [
  { from: 0.5, to: 0.8, by: 0.01 },
  { from: 0.5, to: 1, by: 0.05 },
  { from: 0, to: 1, by: 0.1 },
] as const;

/** The error of a row in percent, with other constants. */
type ErrorWith = (constants: Constants) => number;

/**
 * The effect of the choice of the three rows that a table marks: the errors if constants are fitted by
 * least squares on these three, and on each three of the table's rows.
 */
export function noteOfChoices({ rows }: PublishedTable): string {
  const errors = rows.map(errorWith);
  const grid = constantsOf(RANGES);
  const choices = threeOf(errors).map((chosen) => ({ chosen, mean: meanOfOthers(errors, chosen, grid) }));
  const marked = errors.filter((_, row) => rows[row]!.isAimedAt);
  const own = choices.find(({ chosen }) => chosen.every((each) => marked.includes(each)))!;
  const means = choices.map(({ mean }) => mean).sort((a, b) => a - b);
  const median = (means[Math.floor((means.length - 1) / 2)]! + means[Math.floor(means.length / 2)]!) / 2;
  const percent = (value: number) => value.toFixed(1);
  return (
    `If the constants are fitted by least squares on three rows, the mean error of the others is ${percent(own.mean)} % ` +
    `for the marked rows. Over all ${choices.length} choices of three rows it is ${percent(means[0]!)} to ` +
    `${percent(means.at(-1)!)} %, and its median is ${percent(median)} %.`
  );
}

function meanOfOthers(
  errors: readonly ErrorWith[],
  chosen: readonly ErrorWith[],
  grid: readonly Constants[],
): number {
  const lossOf = (constants: Constants) => chosen.reduce((sum, error) => sum + error(constants) ** 2, 0);
  const best = grid.reduce(
    (least, constants) => {
      const loss = lossOf(constants);
      return loss < least.loss ? { constants, loss } : least;
    },
    { constants: grid[0]!, loss: Infinity },
  ).constants;
  const others = errors.filter((error) => !chosen.includes(error));
  return others.reduce((sum, error) => sum + Math.abs(error(best)), 0) / others.length;
}

/** Of a table whose quantity is a rate. */
function errorWith({ options, measured }: PublishedRow): ErrorWith {
  const { tflopsPerDevice, stepSeconds: now } = predict(options);
  const setting = settingOf(options);
  const { products, memory, tensorExposed } = setting.calibration;
  const savedBy = (more: Partial<Calibration>) =>
    now - stepSeconds({ ...setting, calibration: { ...setting.calibration, ...more } }).seconds;
  // Twice the rate halves a term, and half of the part that is exposed does.
  const terms = [
    2 * savedBy({ products: 2 * products }),
    2 * savedBy({ memory: 2 * memory }),
    2 * savedBy({ tensorExposed: tensorExposed / 2 }),
  ] as const;
  const rest = now - terms[0] - terms[1] - terms[2];
  return ([p, m, e]) => {
    const seconds =
      rest + (terms[0] * products) / p + (terms[1] * memory) / m + (terms[2] * e) / tensorExposed;
    return 100 * ((tflopsPerDevice * now) / seconds / measured - 1);
  };
}

function constantsOf(ranges: typeof RANGES): Constants[] {
  const [products, memory, tensor] = ranges.map(({ from, to, by }) =>
    Array.from({ length: Math.round((to - from) / by) + 1 }, (_, i) => from + i * by),
  );
  return products!.flatMap((p) => memory!.flatMap((m) => tensor!.map((e) => [p, m, e] as const)));
}

const threeOf = <Item>(items: readonly Item[]): Item[][] =>
  items.flatMap((a, i) => items.slice(i + 1).flatMap((b, j) => items.slice(i + j + 2).map((c) => [a, b, c])));
