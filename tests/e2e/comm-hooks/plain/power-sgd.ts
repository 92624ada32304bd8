import { matricesOf, nameOfQ, sizeOf, type HookCase, type PowerSgdCase } from '../cases.js';
import { meanOf, type PlainHook, type PlainStep } from './plain-hook.js';

/** Row-major. */
interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly values: number[];
}

function product(a: Matrix, b: Matrix): Matrix {
  const values = new Array<number>(a.rows * b.columns).fill(0);
  for (let i = 0; i < a.rows; i++)
    for (let k = 0; k < a.columns; k++)
      for (let j = 0; j < b.columns; j++)
        values[i * b.columns + j]! += a.values[i * a.columns + k]! * b.values[k * b.columns + j]!;
  return { rows: a.rows, columns: b.columns, values };
}

function transposed({ rows, columns, values }: Matrix): Matrix {
  const swapped = values.map((_, at) => values[(at % rows) * columns + Math.floor(at / rows)]!);
  return { rows: columns, columns: rows, values: swapped };
}

/** Gram-Schmidt, one column after another. */
function orthonormal({ rows, columns, values }: Matrix): Matrix {
  const result = [...values];
  const at = (row: number, column: number) => row * columns + column;
  const dot = (a: number, b: number) => {
    let sum = 0;
    for (let row = 0; row < rows; row++) sum += result[at(row, a)]! * result[at(row, b)]!;
    return sum;
  };
  for (let column = 0; column < columns; column++) {
    for (let before = 0; before < column; before++) {
      const shadow = dot(before, column);
      for (let row = 0; row < rows; row++) result[at(row, column)]! -= shadow * result[at(row, before)]!;
    }
    const length = Math.sqrt(dot(column, column));
    for (let row = 0; row < rows; row++) result[at(row, column)]! /= length;
  }
  return { rows, columns, values: result };
}

/** Vogels et al., "PowerSGD", 2019, algorithms 1 and 2, for all ranks, in float64. */
export function plainPowerSgd(
  hookCase: HookCase,
  options: PowerSgdCase,
  size: number,
  startOf: (name: string, step: number, shape: [number, number]) => ArrayLike<number>,
): PlainHook {
  const matrices = matricesOf(hookCase, options);
  const errors = Array.from({ length: size }, () =>
    hookCase.shapes.map((shape) => new Array<number>(sizeOf(shape)).fill(0)),
  );
  const qs = new Map<number, Matrix>();

  return (step, grads): PlainStep => {
    if (step < options.startIteration) return { grads: meanOf(grads), shared: {}, local: [] };
    const means = meanOf(grads);
    const shared: Record<string, number[]> = {};
    for (const { variable, rows, columns, rank } of matrices) {
      const name = nameOfQ(hookCase, variable);
      const wanted = grads.map((ofRank, r) => ({
        rows,
        columns,
        values: ofRank[variable]!.map((x, i) => x + (options.errorFeedback ? errors[r]![variable]![i]! : 0)),
      }));
      const isFresh = !options.warmStart || !qs.has(variable);
      const q = isFresh
        ? { rows: columns, columns: rank, values: Array.from(startOf(name, step, [columns, rank])) }
        : qs.get(variable)!;
      const mean = (of: Matrix[]): Matrix => ({
        ...of[0]!,
        values: meanOf(of.map(({ values }) => [values]))[0]!,
      });
      const p = orthonormal(mean(wanted.map((m) => product(m, q))));
      const qsOfRanks = wanted.map((m) => product(transposed(m), p));
      const next = mean(qsOfRanks);
      means[variable] = product(p, transposed(next)).values;
      wanted.forEach((m, r) => {
        const sent = product(p, transposed(qsOfRanks[r]!)).values;
        errors[r]![variable] = m.values.map((x, i) => x - sent[i]!);
      });
      if (options.warmStart) {
        qs.set(variable, next);
        shared[name] = next.values;
      }
    }
    return {
      grads: means,
      shared,
      local: options.errorFeedback ? errors.map((ofRank) => ofRank.map((e) => [...e])) : [],
    };
  };
}
