import { assert, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { differencesFromCpu, resultsOn, type ProgramCase } from '../cuda/program-case.js';
import { CASES } from '../cuda/program-cases.js';
import { caseOf, randomPrograms } from '../cuda/random-programs.js';

// Fused programs on the GPU, compiled by libtorch's NVRTC, beside the CPU. tests/cuda has the same
// programs on an emulated GPU.

function check(given: ProgramCase): void {
  expect(differencesFromCpu(given, resultsOn('cuda:0', given))).toEqual([]);
}

describe('a program computes on the GPU as on the CPU', () => {
  it.each(CASES.map((each) => [each.name, each] as const))('%s', (_, given) => check(given));
});

it('random programs compute on the GPU as on the CPU', () => {
  assert(
    property(randomPrograms, (program) => check(caseOf(program))),
    { numRuns: 40 },
  );
});

it('computes the same bits each time', () => {
  for (const given of CASES) expect(resultsOn('cuda:0', given)).toEqual(resultsOn('cuda:0', given));
});
