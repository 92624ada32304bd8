import type { Chart, Point } from './charts.js';
import type { Measured, Task } from './train.js';

export interface Run {
  readonly strategy: Task['strategy'];
  /** The number of processes. */
  readonly count: number;
  readonly ranks: readonly Measured[];
}

export interface Report {
  readonly text: string;
  /** By the names of their files. */
  readonly charts: Readonly<Record<'loss' | 'scaling' | 'memory', Chart>>;
}

/** The figures of one run that are compared. */
interface Summary {
  readonly name: string;
  readonly run: Run;
  readonly stepMs: number;
  /** The time of one process, divided by this run's. */
  readonly speedUp: number;
  /** The process with the most, in MiB. */
  readonly restingMib: number;
  readonly peakMib: number;
  readonly sentMib: number;
  /** The largest difference of a loss to that of one process, relative to it. */
  readonly difference: number;
}

/** The first of `runs` is that of one process, with which the others are compared. */
export function reportOf(runs: readonly Run[], sizes: Omit<Task, 'strategy'>): Report {
  const summaries = runs.map((run) => summaryOf(run, runs[0]!));
  return { text: textOf(summaries, sizes), charts: chartsOf(summaries) };
}

function summaryOf(run: Run, alone: Run): Summary {
  const most = (bytesOf: (rank: Measured) => number) => Math.max(...run.ranks.map(bytesOf)) / 2 ** 20;
  const stepMs = stepMsOf(run);
  return {
    name: run.strategy === 'single' ? 'single' : `${run.strategy}, ${run.count} processes`,
    run,
    stepMs,
    speedUp: stepMsOf(alone) / stepMs,
    restingMib: most((rank) => rank.restingBytes),
    peakMib: most((rank) => rank.peakBytes),
    sentMib: most((rank) => rank.sentBytes),
    difference: Math.max(...lossesOf(run).map((loss, step) => Math.abs(loss / lossesOf(alone)[step]! - 1))),
  };
}

/** A step takes as long as its slowest process. The median does not see single disturbances. */
function stepMsOf({ ranks }: Run): number {
  const steps = ranks[0]!.stepMs.map((_, step) => Math.max(...ranks.map(({ stepMs }) => stepMs[step]!)));
  return steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)]!;
}

const lossesOf = ({ ranks }: Run): readonly number[] => ranks[0]!.losses;

function textOf(summaries: readonly Summary[], { epochs, rows, width, batchSize }: Omit<Task, 'strategy'>) {
  const lines = summaries.map(
    ({ name, run, stepMs, speedUp, restingMib, peakMib, sentMib, difference }) =>
      `| ${[
        name,
        stepMs.toFixed(1),
        speedUp.toFixed(2),
        `${((100 * speedUp) / run.count).toFixed(0)} %`,
        restingMib.toFixed(1),
        peakMib.toFixed(1),
        sentMib.toFixed(2),
        difference === 0 ? '0' : difference.toExponential(0),
      ].join(' | ')} |`,
  );
  return `# Lab report

A perceptron with two hidden layers of ${width} units, ${epochs} epoch(s) of ${rows} digits in batches of ${batchSize}
of all processes together, one thread for each process.

| run | ms per step | speed-up | efficiency | MiB between steps | MiB at most | MiB sent per step | loss differs by |
| --- | ----------- | -------- | ---------- | ----------------- | ----------- | ----------------- | --------------- |
${lines.join('\n')}

MiB are those of the process with the most. The last column is the largest relative difference of a
loss to that of one process.

![Loss by step](loss.svg)

![Speed-up by number of processes](scaling.svg)

![Memory by number of processes](memory.svg)
`;
}

function chartsOf(summaries: readonly Summary[]): Report['charts'] {
  const several = summaries.filter(({ run }) => run.count > 1);
  const alone = summaries[0]!;
  const byCount = (valueOf: (summary: Summary) => number): Point[] =>
    (['ddp', 'fsdp'] as const).flatMap((line) =>
      [alone, ...several.filter(({ run }) => run.strategy === line)].map((summary) => ({
        line,
        x: summary.run.count,
        y: valueOf(summary),
      })),
    );
  const counts = [...new Set(summaries.map(({ run }) => run.count))];
  return {
    loss: {
      title: 'The loss does not depend on strategy and number of processes',
      x: 'step',
      y: 'loss',
      points: summaries.flatMap(({ name, run }) => lossesOf(run).map((y, x) => ({ line: name, x, y }))),
    },
    scaling: {
      title: 'Strong scaling: the same batch on more processes',
      x: 'processes',
      y: 'speed-up',
      isCount: true,
      points: [...byCount(({ speedUp }) => speedUp), ...counts.map((x) => ({ line: 'ideal', x, y: x }))],
    },
    memory: {
      title: 'Tensors between steps, of the process with the most',
      x: 'processes',
      y: 'MiB',
      isCount: true,
      points: byCount(({ restingMib }) => restingMib),
    },
  };
}
