// The steps of the test commands. Each returns how many tests passed and failed.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, run } from './process.mjs';

const VITEST = join(root, 'node_modules', 'vitest', 'vitest.mjs');

/**
 * Runs all steps, also after a failed one, and adds their counts. A step that ran no test counts as
 * failed. The steps of a nested list run at the same time. The failed tests are named again at the
 * end, because whoever reads the output may have only its last part.
 */
export async function runSteps(steps) {
  const results = [];
  for (const step of steps) {
    const beside = [step].flat();
    console.log(`\n── ${beside.map(({ name }) => name).join(', ')}`);
    results.push(...(await Promise.all(beside.map(runStep))));
  }
  console.log('');
  for (const { failures = [] } of results) for (const failure of failures) console.log(`${failure}\n`);
  for (const { name, passed, failed, seconds } of results) {
    const mark = failed === 0 ? '✓' : '✗';
    console.log(`${mark} ${name.padEnd(14)} ${passed} passed, ${failed} failed (${seconds.toFixed(1)} s)`);
  }
  const sum = (key) => results.reduce((total, result) => total + result[key], 0);
  console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
  return sum('failed') === 0 ? 0 : 1;
}

async function runStep({ name, execute }) {
  const start = performance.now();
  const { passed, failed, failures } = await execute();
  const ranNothing = passed + failed === 0;
  if (ranNothing) console.error(`${name}: no test ran`);
  const seconds = (performance.now() - start) / 1000;
  return { name, passed, failed: failed + Number(ranNothing), failures, seconds };
}

/** A command that passes or fails as a whole. */
export function check(name, command, args) {
  const execute = async () =>
    (await run(command, args)) === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
  return { name, execute };
}

/**
 * Runs projects of vitest. Their report is read from a file, so the console shows the usual
 * reporter.
 *
 * @param {string[]} projects Their names.
 * @param {{config?: string, files?: string[]}} options files: only those whose paths contain one of
 * these texts.
 */
export function vitest(projects, { config = 'vitest.config.ts', files = [] } = {}) {
  const execute = async () => {
    const folder = mkdtempSync(join(tmpdir(), 'acc-vitest-'));
    const report = join(folder, 'report.json');
    const chosen = ['--config', config, ...projects.map((name) => `--project=${name}`)];
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const code = await run(process.execPath, [VITEST, 'run', ...files, ...chosen, ...reporters]);
    try {
      return countVitest(JSON.parse(readFileSync(report, 'utf8')), code);
    } catch (error) {
      console.error(`vitest wrote no report: ${error.message}`);
      return { passed: 0, failed: 1 };
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  return { name: `vitest ${projects.join(' + ')}`, execute };
}

/**
 * A file that failed without a failed test (because it could not be imported) counts as one
 * failure. So does a skipped test.
 */
function countVitest(report, code) {
  const brokenFiles = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((result) => result.status === 'failed'),
  ).length;
  const skipped = report.numPendingTests + report.numTodoTests;
  if (skipped > 0) console.error(`${skipped} tests were skipped, which counts as a failure`);
  const failed = report.numFailedTests + brokenFiles + skipped;
  const failures = report.testResults.flatMap(failuresOf);
  if (failed > 0 || code === 0) return { passed: report.numPassedTests, failed, failures };
  const why = `✗ vitest ended with code ${code} though no test failed: see its output for "Unhandled"`;
  return { passed: report.numPassedTests, failed: 1, failures: [why] };
}

function failuresOf({ name, status, message, assertionResults }) {
  const failed = assertionResults.filter((result) => result.status === 'failed');
  if (status === 'failed' && failed.length === 0) return [`✗ ${name}\n${message}`];
  return failed.map(({ fullName, failureMessages }) =>
    [`✗ ${name} > ${fullName}`, ...failureMessages].join('\n'),
  );
}

/** tfjs-core's own specs on the backend `acc`. */
export function tfjsSpecs(device = 'cpu') {
  return counted('tfjs-core specs', [
    'tests/tfjs-core-specs/run.mjs',
    '--backend',
    'acc',
    '--device',
    device,
  ]);
}

/** A script whose last line is `N passed, N failed`. */
export function counted(name, args) {
  const execute = async () => {
    let output = '';
    const onOutput = (text) => {
      process.stdout.write(text);
      output += text;
    };
    const code = await run(process.execPath, args, { onOutput });
    const [, passed, failed] = /(\d+) passed, (\d+) failed/.exec(output.trimEnd().split('\n').at(-1)) ?? [];
    if (passed === undefined) return { passed: 0, failed: 1 };
    return { passed: Number(passed), failed: Number(failed) || Number(code !== 0) };
  };
  return { name, execute };
}
