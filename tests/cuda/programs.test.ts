import { assert, property } from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryStats } from '@acc/native';
import { EmulatedDriver } from './emulated.js';
import { CaseBuilder, differencesFromCpu, resultsOn, type ProgramCase } from './program-case.js';
import { CASES } from './program-cases.js';
import { caseOf, randomPrograms } from './random-programs.js';

// The source of fused programs for CUDA, without a GPU. g++ compiles it, and the CPU runs it: the results
// are compared with those of the CPU's own way to run programs.

let driver: EmulatedDriver;
beforeAll(() => {
  driver = EmulatedDriver.create();
});

function check(given: ProgramCase): void {
  expect(differencesFromCpu(given, resultsOn('cpu', given, driver.path))).toEqual([]);
}

describe('a program for CUDA computes as on a CPU', () => {
  it.each(CASES.map((each) => [each.name, each] as const))('%s', (_, given) => check(given));
});

it('random programs for CUDA compute as on a CPU', () => {
  assert(
    property(randomPrograms, (program) => check(caseOf(program))),
    { numRuns: 60 },
  );
});

const [first] = CASES as [ProgramCase];

it('compiles the same source once, for any number of rows', () => {
  const own = EmulatedDriver.create();
  const centred = (count: number): ProgramCase => {
    const made = new CaseBuilder([count, 30], 30);
    const [x, y] = [made.input(), made.input({ shape: [count, 1], layout: 'sliced' })];
    made.result(made.program.step('sub', made.program.step('mul', x, y), made.program.reduced('maxRow', x)));
    return made.build('centred');
  };
  for (const count of [2, 9, 9, 0, 70]) {
    expect(resultsOn('cpu', centred(count), own.path)).toEqual(resultsOn('cpu', centred(count)));
  }
  expect(own.compiled).toBe(1);
  resultsOn('cpu', first, own.path);
  expect(own.compiled).toBe(2);
});

it('releases the memory of its results and sums', () => {
  const before = memoryStats();
  for (const given of CASES.slice(0, 8)) resultsOn('cpu', given, driver.path);
  expect(memoryStats().allocatedBytes).toBe(before.allocatedBytes);
});

it('passes on why the compiler refuses a program, and compiles it later', () => {
  const own = EmulatedDriver.create();
  {
    using _ = own.refusing('program.cu(3): error: a reason');
    expect(() => resultsOn('cpu', first, own.path)).toThrowError(
      expect.objectContaining({
        code: 'ACC_OPERATOR_FAILED',
        message: expect.stringContaining('program.cu(3): error: a reason') as string,
      }),
    );
  }
  expect(resultsOn('cpu', first, own.path)).toEqual(resultsOn('cpu', first));
});

it('names a library that it cannot load', () => {
  expect(() => resultsOn('cpu', first, '/nowhere/libcaffe2_nvrtc.so')).toThrowError(
    expect.objectContaining({
      code: 'ACC_OPERATOR_FAILED',
      message: expect.stringContaining('/nowhere/libcaffe2_nvrtc.so') as string,
    }),
  );
});
