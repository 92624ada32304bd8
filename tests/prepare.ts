// Provides what the tests of the named projects need: `tsx tests/prepare.ts <project>…`.
// scripts/queue/prepare.mjs starts it.
import { provideTools } from './hosts/provide-tools.js';
import { provideTfjsNode } from './e2e/tfjs-node/project.js';

const projects = process.argv.slice(2);
const some = (...names: readonly string[]) => names.some((name) => projects.includes(name));

if (some('unit', 'e2e', 'ranks')) await provideTfjsNode();
if (some('hosts', 'release')) await provideTools();
