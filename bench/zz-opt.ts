import { readFileSync } from 'node:fs';
import { optimize } from '/root/wt/fuse/packages/kernels/src/fusion/optimize.js';
const t=readFileSync(process.argv[2]!,'utf8');
const s=performance.now(); const r=optimize(t, (process.argv[3] ?? 'fast') as never); console.log(r.explanation); console.log(performance.now()-s,'ms', r.plan.length);
