import { expect, it } from 'vitest';
import { printSummary, runAndReport, runJobs } from './run-jobs.mjs';

const capacity = { processor: 1, memoryGiB: 8 };

const job = (name, result, seconds = 1) => ({
  name,
  processor: 1,
  memoryGiB: 1,
  seconds,
  run: async () => result,
});
const passing = (name, seconds) => job(name, { passed: 2, failed: 0, output: 'much output' }, seconds);
const failing = (name) =>
  job(name, { passed: 1, failed: 1, failures: [`✗ ${name}: why`], output: `output of ${name}\n` });

async function printed(jobs, options) {
  const lines = [];
  const code = await runAndReport(jobs, { capacity, print: (text) => lines.push(text), ...options });
  return { code, text: lines.join('\n').replaceAll(/\(\d+\.\d s\)/g, '(s)'), last: lines.at(-1) };
}

it('prints one line for a job that passed, and the sum last', async () => {
  const { code, text, last } = await printed([passing('a', 1), passing('b', 2)]);
  expect(code).toBe(0);
  expect(last).toBe('4 passed, 0 failed');
  expect(text).not.toContain('much output');
  const line = (name) => `✓ ${name.padEnd(40)} 2 passed, 0 failed (s)`;
  expect(text.split('\n')).toEqual([line('b'), line('a'), '', line('b'), line('a'), last]);
});

it('prints all of a failed job, and names its failures again at the end', async () => {
  const { code, text, last } = await printed([failing('bad'), passing('good')]);
  expect(code).toBe(1);
  expect(last).toBe('3 passed, 1 failed');
  expect(text).toContain('── bad\noutput of bad\n✗ bad');
  expect(text.indexOf('✗ bad: why')).toBeGreaterThan(text.indexOf('✓ good'));
});

it('counts a job without tests, and one that throws, as a failure each', async () => {
  const throwing = { ...passing('throwing'), run: () => Promise.reject(new Error('broken')) };
  const { code, text, last } = await printed([job('empty', { passed: 0, failed: 0 }), throwing]);
  expect(code).toBe(1);
  expect(last).toBe('0 passed, 2 failed');
  expect(text).toContain('✗ empty: no test ran');
  expect(text).toContain('✗ throwing: Error: broken');
});

it('stops at the first failure on request, and names what did not run', async () => {
  const jobs = [passing('first'), failing('bad'), passing('later'), passing('last')];
  const lines = [];
  const options = { capacity, keepOrder: true, stopAtFirstFailure: true, print: (text) => lines.push(text) };
  const outcome = await runJobs(jobs, options);
  expect(outcome).toMatchObject({ passed: 3, failed: 1, left: ['later', 'last'] });
  expect(outcome.results.map(({ name }) => name)).toEqual(['first', 'bad']);
  expect(printSummary(outcome, options.print)).toBe(1);
  expect(lines.at(-2)).toBe('– not run: later, last');
});

it('asks a running job to end when another has failed', async () => {
  const waiting = {
    ...passing('waiting'),
    processor: 0.2,
    run: ({ signal }) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve({ passed: 0, failed: 9, output: '' })),
      ),
  };
  const bad = { ...failing('bad'), processor: 0.2 };
  const outcome = await runJobs([waiting, bad], {
    capacity,
    stopAtFirstFailure: true,
    print: () => undefined,
  });
  // What the ended job says of itself is not a result.
  expect(outcome).toMatchObject({ failed: 1, left: ['waiting'] });
});

it('counts the jobs that a signal has ended as failures', () => {
  const lines = [];
  const outcome = { passed: 2, failed: 0, results: [], left: ['a', 'b'], signal: 'SIGINT' };
  expect(printSummary(outcome, (text) => lines.push(text))).toBe(130);
  expect(lines.at(-1)).toBe('2 passed, 2 failed');
});
