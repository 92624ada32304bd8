import { AccError, checkKeys, withLifecycle, type Tracker } from '@acc/contract';

export interface ConsoleOptions {
  /** Shows metrics of every n-th step only. Default 1: every step. */
  readonly every?: number;
}

/**
 * Prints one line to stdout for each `log`: the step, then names and numbers. System metrics
 * (`system/…`) are left out.
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
      const shown = Object.entries(metrics).filter(([key]) => !key.startsWith('system/'));
      if (shown.length > 0) show(step, shown.map(([key, value]) => `${key} ${readable(value)}`).join('  '));
    },
    logConfig: (config) => console.log(`config ${JSON.stringify(config)}`),
    logText: (step, key, text) => show(step, `${key}: ${text}`),
    logTable(step, key, { columns, rows }) {
      show(step, key);
      console.table(rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i]]))));
    },
  });
}

/** Formats a number with four significant digits. */
function readable(value: number): string {
  if (Number.isInteger(value) || !Number.isFinite(value)) return String(value);
  return String(Number(value.toPrecision(4)));
}
