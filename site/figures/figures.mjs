import { bars } from './bars.mjs';
import { buckets, rows } from './data-parallel.mjs';
import { mesh } from './mesh.mjs';
import { promise } from './promise.mjs';
import { step } from './step.mjs';
import { zero } from './zero.mjs';

/** The figures of the site by name. A page has one with `<!-- figure: name -->`. */
export const figures = { bars, buckets, mesh, promise, rows, step, zero };
