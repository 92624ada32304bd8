import { AccError, checkKeys, withLifecycle, type Tracker } from '@acc/contract';

export interface ConsoleOptions {
  /** Shows metrics of every n-th step only. Default 1: every step. */
  readonly every?: number;
}

const COLUMNS = 100;
/** The metrics of `autoLog` that are shown, by their short names. Files and services have all. */
const SHOWN: Readonly<Record<string, string>> = {
  'train/loss': 'loss',
  'train/learning_rate': 'rate',
  'train/samples_per_second': 'samples/s',
  'time/step_ms': 'ms',
};
/** All other names that `autoLog` gives. Other figures with such a prefix are the program's own. */
const LEFT_OUT = new RegExp(
  [
    /^train\/(grad_norm|tokens_per_second)$/,
    /^time\/(data|forward|backward|communication|optimizer)_ms$/,
    /^system\/(cpu_utilization_percentage|system_memory_usage_megabytes)$/,
    /^system\/rank_\d+\/((cpu|gpu)_percentage|(gpu_)?memory_megabytes)$/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

/**
 * Prints one line to stdout for each `log`: the step, then names and numbers, in 100 columns. Of the
 * figures of `autoLog` it prints loss, learning rate, samples per second and time of a step.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function consoleTracker(options: ConsoleOptions = {}): Tracker {
  checkKeys('console', options, ['every']);
  const { every = 1 } = options;
  if (!Number.isInteger(every) || every < 1) {
    throw new AccError(
      'ACC_INVALID_OPTION',
      `console: every is ${String(every)}, expected a whole number from 1.`,
      { help: 'Leave it out to print each step.' },
    );
  }
  const show = (step: number, text: string) => console.log(`step ${step}  ${text}`);
  return withLifecycle<Tracker>({
    name: 'console',
    start: () => Promise.resolve(),
    resume: () => Promise.resolve(),
    finish: () => Promise.resolve(),
    log(step, metrics) {
      if (step % every !== 0) return;
      const shown = Object.entries(metrics).filter(([key]) => !LEFT_OUT.test(key));
      const words = shown.map(
        ([key, value]) => `${Object.hasOwn(SHOWN, key) ? SHOWN[key] : key} ${readable(value)}`,
      );
      if (words.length > 0) show(step, fitting(words, COLUMNS - `step ${step}  `.length));
    },
    logConfig: (config) => console.log(`config ${JSON.stringify(config)}`),
    logText: (step, key, text) => show(step, `${key}: ${text}`),
    logTable(step, key, { columns, rows }) {
      show(step, key);
      console.table(rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i]]))));
    },
  });
}

/** As many words as fit into the columns, at least one, and the number of the others. */
function fitting(words: readonly string[], columns: number): string {
  for (let count = words.length; count > 1; count--) {
    const left = words.length - count;
    const line = [...words.slice(0, count), ...(left > 0 ? [`(${left} more)`] : [])].join('  ');
    if (line.length <= columns) return line;
  }
  return words.length === 1 ? words[0]! : `${words[0]}  (${words.length - 1} more)`;
}

/** Formats a number with four significant digits. */
function readable(value: number): string {
  if (Number.isInteger(value) || !Number.isFinite(value)) return String(value);
  return String(Number(value.toPrecision(4)));
}
