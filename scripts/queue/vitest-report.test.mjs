import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../process.mjs';
import { countReport } from './vitest-report.mjs';

const passed = { status: 'passed', fullName: 'is right', failureMessages: [] };
const file = (name, status, assertionResults, message = '') => ({
  name: join(root, name),
  status,
  message,
  assertionResults,
});

const count = (testResults, { code = 0, files } = {}) =>
  countReport(
    {
      numPassedTests: testResults.flatMap(({ assertionResults }) => assertionResults).filter(isPassed).length,
      testResults,
    },
    code,
    files,
  );
const isPassed = ({ status }) => status === 'passed';

it('counts passed tests', () => {
  expect(count([file('a.test.ts', 'passed', [passed, passed])], { files: ['a.test.ts'] })).toEqual({
    passed: 2,
    failed: 0,
    failures: [],
  });
});

it('counts a failed test, with its message', () => {
  const failed = { status: 'failed', fullName: 'is wrong', failureMessages: ['expected 1'] };
  expect(count([file('a.test.ts', 'failed', [passed, failed])], { code: 1 })).toEqual({
    passed: 1,
    failed: 1,
    failures: ['✗ a.test.ts > is wrong\nexpected 1'],
  });
});

it.each(['pending', 'skipped', 'todo'])('counts a test that was %s as failed', (status) => {
  const left = { status, fullName: 'is left out', failureMessages: [] };
  expect(count([file('a.test.ts', 'passed', [passed, left])])).toMatchObject({ passed: 1, failed: 1 });
});

it('counts a file that could not be imported as one failure', () => {
  const { failed, failures } = count([file('a.test.ts', 'failed', [], 'no such module')], { code: 1 });
  expect([failed, failures]).toEqual([1, ['✗ a.test.ts\nno such module']]);
});

it('counts a file whose hook failed after its tests as one failure', () => {
  expect(count([file('a.test.ts', 'failed', [passed], 'hook')], { code: 1 })).toMatchObject({
    passed: 1,
    failed: 1,
  });
});

it('counts a file that did not run as one failure', () => {
  const { failed, failures } = count([file('a.test.ts', 'passed', [passed])], {
    files: ['a.test.ts', 'b.test.ts'],
  });
  expect([failed, failures]).toEqual([1, ['✗ b.test.ts\nvitest did not run it']]);
});

it('counts an exit code without a failed test as one failure', () => {
  expect(count([file('a.test.ts', 'passed', [passed])], { code: 1 })).toMatchObject({ passed: 1, failed: 1 });
});
