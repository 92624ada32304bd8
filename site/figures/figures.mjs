import { buckets, rows } from './data-parallel.mjs';
import { mesh } from './mesh.mjs';
import { step } from './step.mjs';
import { zero } from './zero.mjs';

/** The figures of the site by name. A page has one with `<!-- figure: name -->`. */
export const figures = { rows, buckets, zero, step, mesh };
