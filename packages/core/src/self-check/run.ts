// The program of a rank of `acc test`. Its argument is the plan as JSON.
import type { SelfCheckPlan } from './check.js';
import { selfCheck } from './self-check.js';

const plan = JSON.parse(process.argv[2]!) as SelfCheckPlan;
for (const module of plan.imports) await import(module);
const isComplete = await selfCheck(plan, Number(process.env['RANK']));
process.exit(isComplete ? 0 : 1);
