// Counts what vitest's JSON report says.
import { relative } from 'node:path';
import { root } from '../process.mjs';

/**
 * A file that failed without a failed test (because it could not be imported) counts as one
 * failure. So does a skipped test, and a file that should have run and is not in the report.
 *
 * @param {object} report vitest's JSON report.
 * @param {number} code The exit code of vitest.
 * @param {readonly string[]} files The files that should have run, by their paths from the root.
 * @returns {{passed: number, failed: number, failures: string[]}}
 */
export function countReport(report, code, files = []) {
  const failures = report.testResults.flatMap(failuresOf);
  const ran = new Set(report.testResults.map(({ name }) => relative(root, name)));
  for (const file of files) if (!ran.has(file)) failures.push(`✗ ${file}\nvitest did not run it`);
  const passed = report.numPassedTests;
  if (failures.length === 0 && code !== 0) {
    failures.push(`✗ vitest ended with code ${code} though no test failed: see its output for "Unhandled"`);
  }
  return { passed, failed: failures.length, failures };
}

function failuresOf({ name, status, message, assertionResults }) {
  const file = relative(root, name);
  const failures = assertionResults.flatMap(({ status, fullName, failureMessages }) => {
    if (status === 'passed') return [];
    const messages = status === 'failed' ? failureMessages : ['It was skipped, which counts as a failure.'];
    return [[`✗ ${file} > ${fullName}`, ...messages].join('\n')];
  });
  const isBroken = status === 'failed' && !assertionResults.some((result) => result.status === 'failed');
  return isBroken ? [`✗ ${file}\n${message}`, ...failures] : failures;
}
