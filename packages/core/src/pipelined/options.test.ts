import { describe, expect, it } from 'vitest';
import { resolveOptions, type AcceleratorOptions } from '../options.js';
import { resolvePipelineOptions, type PipelineOptions } from './options.js';

const helpFor = (act: () => unknown): string | undefined => {
  try {
    act();
  } catch (error) {
    return (error as { readonly help?: string }).help;
  }
  return 'no error';
};

const GENERIC = /^Correct it\b/;

describe('an invalid value has its next step', () => {
  it.each<[string, object, RegExp]>([
    ['no micro-batches', { microBatches: 0 }, GENERIC],
    ['a part of a micro-batch', { microBatches: 1.5 }, GENERIC],
    ['a text', { microBatches: '4' }, /^Write 4 without quotes\.$/],
    ['a text that is no number', { microBatches: 'four' }, GENERIC],
    ['a flat list of stages', { stages: ['d1', 'd2'] }, /\[\['first'\], \['second', 'third'\]\]/],
    ['no stages', { stages: [] }, /\[\['first'\]/],
    ['another schedule', { schedule: 'zerobuble' }, /^Did you mean 'zeroBubble'\?$/],
    ['no schedule', { schedule: 7 }, GENERIC],
  ])('%s of pipelined, and of the Accelerator', (_, options, help) => {
    expect(helpFor(() => resolvePipelineOptions(options as PipelineOptions, {}))).toMatch(help);
    expect(helpFor(() => resolveOptions({ pipeline: options } as AcceleratorOptions))).toMatch(help);
  });

  it.each<[string, object, RegExp]>([
    ['a text', { pipeline: '2' }, /^Write 2 without quotes\.$/],
    ['a negative number', { tensor: -2 }, /number of ranks along each axis, or -1 for all/],
    ['half a rank', { data: 1.5 }, /number of ranks along each axis/],
  ])('%s of mesh', (_, mesh, help) => {
    expect(helpFor(() => resolveOptions({ mesh }))).toMatch(help);
  });

  it.each<[object, RegExp]>([
    [{ gradientAccumulationSteps: 0 }, /^Correct it, or leave it out: the default is 1\.$/],
    [{ collective: { timeoutMs: -1 } }, GENERIC],
  ])('also without a help of its own: %j', (options, help) => {
    expect(helpFor(() => resolveOptions(options))).toMatch(help);
  });
});
